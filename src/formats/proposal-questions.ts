/** Questions to a person who confirms a file format, from columns that no field is read from: other employers, and people who left or were hired again. */
import { folded } from '../contract/meant.ts';
import type { Problem } from '../errors.ts';
import { bareOf } from './csv.ts';

const EMPLOYERS: ReadonlySet<string> = new Set([
  ...['employer', 'employername', 'employerid', 'company', 'companyname', 'companycode', 'companyid'],
  ...['cocode', 'client', 'clientname', 'clientid', 'legalentity', 'fein', 'ein'],
]);

const STATUSES: ReadonlySet<string> = new Set([
  ...['status', 'employeestatus', 'positionstatus', 'workerstatus', 'employmentstatus', 'activestatus'],
  ...['statuscode', 'employeestatuscode', 'positionstatuscode', 'employmentstatuscode'],
]);
const HAS_LEFT = /^(?:t|inactive|left|former)$|^(?:term|separat|resign|retire|deceas|dismiss|quit|laidoff)/;

const REHIRES: ReadonlySet<string> = new Set(['rehiredate', 'daterehired', 'rehired']);

/** Bounds the values that are remembered. */
const VALUES_MAX = 100;

const rowsOf = (count: number): string => (count === 1 ? '1 row' : `${count} rows`);

/** Collects from the rows of a file what a person must decide. `isConfirmed`: whether a person has confirmed the column. */
export function createQuestions(names: readonly string[], isConfirmed: (header: string) => boolean) {
  const hasTerminations = names.includes('termination_date');
  let employers: { path: string; index: number; values: Set<string> }[] = [];
  let statuses: { path: string; index: number; rows: number }[] = [];
  let terminations = -1;
  let rehires: { path: string; index: number; rows: number }[] = [];
  let hires = -1;

  return {
    begin(header: readonly string[], fields: ReadonlyMap<string, string>): void {
      const open = [...header.entries()].flatMap(([index, path]) =>
        fields.has(path) || isConfirmed(path) ? [] : [{ path, index }],
      );
      const among = (words: ReadonlySet<string>) => open.filter(({ path }) => words.has(folded(path)));
      employers = among(EMPLOYERS).map((column) => ({ ...column, values: new Set() }));
      statuses = (hasTerminations ? among(STATUSES) : []).map((column) => ({ ...column, rows: 0 }));
      hires = header.findIndex((path) => fields.get(path) === 'hire_date');
      rehires = (hires === -1 ? [] : among(REHIRES)).map((column) => ({ ...column, rows: 0 }));
      terminations = header.findIndex((path) => fields.get(path) === 'termination_date');
    },
    noteRow(cells: readonly string[]): void {
      for (const { index, values } of employers) {
        const cell = bareOf(cells[index] ?? '');
        if (cell !== '' && values.size < VALUES_MAX) values.add(cell);
      }
      const hasDate = /[1-9]/.test(cells[terminations] ?? '');
      for (const column of statuses)
        if (!hasDate && HAS_LEFT.test(folded(cells[column.index] ?? ''))) column.rows += 1;
      for (const column of rehires) {
        const cell = cells[column.index] ?? '';
        if (/[1-9]/.test(cell) && cell !== cells[hires]) column.rows += 1;
      }
    },
    problems(): Problem[] {
      const mixed = employers.filter(({ values }) => values.size > 1);
      const again = rehires.filter(({ rows }) => rows > 0);
      const left = statuses.filter(({ rows }) => rows > 0);
      return [
        ...mixed.map(({ path, values }) => ({
          path,
          rule: `has ${values.size} different values: leave out the rows of other employers`,
        })),
        ...again.map(({ path, rows }) => ({
          path,
          rule: `has people who were hired again, ${rowsOf(rows)}, and is not read: put these dates into the column of the hire date`,
        })),
        ...left.map(({ path, rows }) => ({
          path,
          rule: `has people who left without a termination date, ${rowsOf(rows)}: leave these rows out, or add the dates`,
        })),
      ];
    },
  };
}
