/** Reads deductions that payroll names by its codes. */
import type { CsvRecord } from '../../formats/csv.ts';
import type { PayrollCode } from './codes.ts';

/** What a payroll code states of a deduction. */
const FOLLOWING = ['line_of_coverage', 'taxability', 'coverage_type'] as const;

/** Replaces the column of payroll codes with what the employer's codes state. A value of the file itself stays. */
export async function* byCode(
  records: AsyncGenerator<CsvRecord>,
  codes: readonly PayrollCode[],
): AsyncGenerator<CsvRecord> {
  const header = await records.next();
  if (header.done) return;
  const names = header.value.cells;
  const at = names.indexOf('payroll_code');
  if (at === -1) {
    yield header.value;
    yield* records;
    return;
  }
  const known = Map.groupBy(
    codes.filter(({ side }) => side === 'employee'),
    ({ code }) => code,
  );
  const added = FOLLOWING.filter((name) => !names.includes(name));
  yield { ...header.value, cells: [...names.toSpliced(at, 1), ...added] };
  for await (const record of records) {
    const { cells } = record;
    if (record.broken !== null) {
      yield record;
      continue;
    }
    const code = cells[at] ?? '';
    const entries = known.get(code) ?? [];
    if (code !== '' && entries.length === 0) {
      yield {
        ...record,
        broken: { path: 'payroll_code', rule: UNKNOWN_CODE, hint: `its code is "${code}"` },
      };
      continue;
    }
    const filled = names.map((name, index) => cells[index] || followingFrom(entries, name));
    yield {
      ...record,
      cells: [...filled.toSpliced(at, 1), ...added.map((name) => followingFrom(entries, name))],
    };
  }
}

const UNKNOWN_CODE =
  "is not a payroll code of the employee's side: set the employer's payroll codes, or leave its rows out in the file format";

/** Returns what all entries of a code state; empty if they differ. */
function followingFrom(entries: readonly PayrollCode[], name: string): string {
  const field = FOLLOWING.find((following) => following === name);
  if (field === undefined) return '';
  const [value = null, ...others] = new Set(entries.map((entry) => entry[field]));
  return others.length === 0 && value !== null ? value : '';
}
