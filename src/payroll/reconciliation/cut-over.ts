/** Compares what payroll and the service have with the roster and the ledger before the first run ("Cut-over" in docs/pilot.md). */
import { createHash } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { CONTRIBUTION_DIGITS_MAX, CONTRIBUTION_PATTERN } from '../../contract/deduction.ts';
import { boolean, closed, integer, nullableText, oneOfDescribed, text } from '../../contract/fields.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { transact } from '../../database/transaction.ts';
import { AppError, conflict, type Problem } from '../../errors.ts';
import {
  amountProblem,
  type Columns,
  createProblems,
  type GivenRow,
  type Rows,
  readableRows,
} from '../../formats/rows.ts';
import { type DeductionCursor, listDeductions } from '../../ledger/deductions.ts';
import { employmentsOf, jobsOn } from '../../ledger/employment.ts';
import { employeesOf, rosterOf } from '../../ledger/roster.ts';
import type { Viewer } from '../../ledger/visibility.ts';
import { decimal, printReadable } from '../../money.ts';
import { type Acting, lastRecordsOf, record } from '../../security/audit.ts';

const SIGN = 'cut-over.sign';

/** In the order in which they are signed. */
export const CUT_OVER_LISTS = ['people', 'deductions', 'service'] as const;
export type CutOverList = (typeof CUT_OVER_LISTS)[number];

const DIFFERENCES = ['only_here', 'only_in_file', 'differs', 'missing_id'] as const;
type Kind = (typeof DIFFERENCES)[number];

const Difference = closed({
  difference: oneOfDescribed(
    DIFFERENCES,
    '`only_here`: not in the file. `only_in_file`: not in the roster or the ledger. `differs`: in both, with other amounts or terms. `missing_id`: a placeholder.',
  ),
  employee_id: text('The employee.'),
  deduction_id: nullableText('The deduction, of the list `service` and of a placeholder.'),
  line_of_coverage: nullableText('The line of coverage.'),
  taxability: nullableText('The taxability.'),
  here: nullableText('What the ledger has, such as `69.23 plus employer 161.53 biweekly`.'),
  file: nullableText('What the file has.'),
  signed_off: boolean('Whether the last sign-off of the list has this difference with the same amounts.'),
});
type Difference = Static<typeof Difference>;

/** Differences that a response lists and a sign-off names; all are counted. */
const LISTED_MAX = 1_000;
/** Bytes of the hash by which a sign-off names a difference. */
const MARK_BYTES = 12;

export const CutOver = closed({
  list: oneOfDescribed(CUT_OVER_LISTS, 'What the file lists.'),
  on: text('The date whose employees and deductions were compared: today.'),
  rows: integer('The number of rows in the file.'),
  same: integer('The number of employees or deductions that agree.'),
  differences: integer('The number of differences that are not signed off.'),
  signed_off: integer('The number of differences that the last sign-off of the list has.'),
  signed_at: nullableText('The time of the last sign-off of the list. Null if there is none.'),
  missing_ids: integer('The number of placeholders that no deduction of the service replaces.'),
  unknown_employees: integer(
    'The number of employees of the file who do not work here, without their deductions. The list `people` names them.',
  ),
  shown: Type.Array(Difference, {
    description: `The first ${LISTED_MAX} differences, those that are not signed off first, by kind and employee.`,
  }),
  etag: text('Names this comparison. Sign it off with this text.'),
});
export type CutOver = Static<typeof CutOver>;

const TERMS = ['line_of_coverage', 'taxability', 'period', 'member_contribution'] as const;

export const CUT_OVER_COLUMNS: Columns = {
  list: 'rows',
  required: ['employee_id'],
  optional: ['id', ...TERMS, 'employer_contribution', 'effective_start', 'effective_end'],
  format: 'census (list people) or --kind deductions (other lists)',
};

/** More rows than an employer has deductions. They stay in memory, about 300 bytes each. */
export const CUT_OVER_ROWS_MAX = 500_000;
const ROWS_AT_ONCE = 1_000;

/** Contributions are added up exactly, in units of this many decimals: the most that the contract's texts have here. */
const DECIMALS = CONTRIBUTION_DIGITS_MAX;
const CONTRIBUTION = new RegExp(CONTRIBUTION_PATTERN);

function scaled(contribution: string): bigint {
  const { units, decimals } = decimal(contribution);
  return units * 10n ** BigInt(DECIMALS - decimals);
}

/** An employee or a deduction on one side. Deductions of one key are added up, by period. */
type Side = Omit<Difference, 'difference' | 'here' | 'file' | 'signed_off'> & {
  isPlaceholder: boolean;
  sums: Map<string, { member: bigint; employer: bigint }>;
};
type Sides = Map<string, Side>;

type Compared = Pick<Side, 'employee_id' | 'deduction_id' | 'line_of_coverage' | 'taxability'>;
type Amounts = { period: string; member: bigint; employer: bigint };

type Comparing = { employerId: string; list: CutOverList; today: string; viewer: Viewer | null };

/** Compares a list with the employer's roster or with the deductions in effect today. Throws ROWS_REFUSED. */
export async function compareCutOver(
  db: Db,
  { employerId, list, today, viewer }: Comparing,
  rows: Rows,
): Promise<CutOver> {
  const signed = (await lastRecordsOf(db, resourceOf(employerId, list), [SIGN])).get(SIGN) ?? null;
  const marks = new Set((signed?.details.marks as readonly string[] | undefined) ?? []);
  const file = await sidesInFile(list, rows, today);
  const working = await employeesOn(db, employerId, today);
  const here =
    list === 'people' ? peopleFrom(working) : await sidesInLedger(db, { employerId, list, today, viewer });
  const unknown = new Set<string>();
  const found: Difference[] = [];
  let same = 0;
  for (const key of new Set([...here.keys(), ...file.sides.keys()])) {
    const [mine, theirs] = [here.get(key) ?? null, file.sides.get(key) ?? null];
    const { employee_id } = (mine ?? theirs) as Side;
    // The list of people names such an employee, so that each difference is there once.
    if (mine === null && list !== 'people' && !working.has(employee_id)) unknown.add(employee_id);
    else {
      const kind = differenceOf(mine, theirs);
      if (kind === null) same += 1;
      else found.push(viewDifference(kind, mine, theirs, marks));
    }
  }
  found.sort((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
  const open = found.filter(({ signed_off }) => !signed_off).length;
  const counts = {
    ...{ list, on: today, rows: file.rows, same, differences: open, signed_off: found.length - open },
    signed_at: signed?.at ?? null,
    missing_ids: [...here.values()].filter(({ isPlaceholder }) => isPlaceholder).length,
    unknown_employees: unknown.size,
  };
  const etag = createHash('sha256')
    .update(JSON.stringify([employerId, counts, found]))
    .digest('base64url');
  return { ...counts, shown: found.slice(0, LISTED_MAX), etag };
}

/**
 * Records that a person accepts the differences of a comparison. Throws CONFLICT while IDs are missing or an earlier list is not
 * signed off, and PRECONDITION_FAILED if the comparison is another one now.
 */
export async function signCutOver(
  db: Db,
  employerId: string,
  compared: CutOver,
  { etag, reason }: { etag: string; reason: string },
  acting: Acting,
): Promise<void> {
  const { list, shown, etag: now, signed_at: _, ...counts } = compared;
  if (now !== etag)
    throw new AppError('PRECONDITION_FAILED', 'The comparison changed since it was reviewed. Compare again.');
  if (counts.missing_ids > 0)
    throw conflict(
      `${counts.missing_ids} deductions have no ID of the benefits service. See \`deductions list --placeholder open\`.`,
    );
  const all = counts.differences + counts.signed_off;
  if (all > LISTED_MAX)
    throw conflict(
      `${all} differences are too many to review: at most ${LISTED_MAX} are signed off. Correct the file, or how it is read.`,
    );
  await transact(db, async (trx) => {
    const [first] = CUT_OVER_LISTS;
    const signed = list === first || (await isSigned(trx, employerId, first));
    if (!signed) throw conflict('Sign off the people first, then the deductions.');
    const details = { list, ...counts, etag, marks: shown.map(markOf) };
    await record(trx, acting, {
      ...{ action: SIGN, resource: resourceOf(employerId, list), employer: employerId },
      ...{ details, reason },
    });
  });
}

function resourceOf(employerId: string, list: CutOverList): string {
  return `${employerId}/${list}`;
}

async function isSigned(trx: Trx, employerId: string, list: CutOverList): Promise<boolean> {
  return (await lastRecordsOf(trx, resourceOf(employerId, list), [SIGN])).size > 0;
}

/** Names a difference with its amounts, so that it is another one once it changes. */
function markOf({ signed_off: _, ...difference }: Difference): string {
  const hash = createHash('sha256').update(JSON.stringify(Object.entries(difference).sort()));
  return hash.digest().subarray(0, MARK_BYTES).toString('base64url');
}

async function sidesInFile(
  list: CutOverList,
  rows: Rows,
  today: string,
): Promise<{ rows: number; sides: Sides }> {
  const problems = createProblems();
  const sides: Sides = new Map();
  let count = 0;
  for await (const some of readableRows(rows, CUT_OVER_COLUMNS, problems, ROWS_AT_ONCE)) {
    count += some.length;
    if (count > CUT_OVER_ROWS_MAX) {
      problems.add({ path: CUT_OVER_COLUMNS.list, rule: `must have at most ${CUT_OVER_ROWS_MAX} elements` });
      break;
    }
    for (const { path, fields } of some) {
      if (isInEffect(fields, today)) problems.add(...addRow(sides, list, path, fields));
    }
  }
  problems.assertNone();
  return { rows: count, sides };
}

/** Reports whether a row is in effect on a day, by the dates that it has. */
function isInEffect({ effective_start = '', effective_end = '' }: GivenRow['fields'], day: string): boolean {
  return effective_start.slice(0, 10) <= day && (effective_end === '' || effective_end.slice(0, 10) >= day);
}

function addRow(
  sides: Sides,
  list: CutOverList,
  path: string,
  fields: Readonly<Record<string, string>>,
): Problem[] {
  const { id, employee_id, line_of_coverage = null, taxability = null, period } = fields;
  const required = [
    'employee_id',
    ...(list === 'people' ? [] : TERMS),
    ...(list === 'service' ? ['id'] : []),
  ];
  const missing = required.filter((field) => fields[field] === undefined);
  if (missing.length > 0) return missing.map((field) => ({ path: `${path}.${field}`, rule: 'is required' }));
  const compared = {
    employee_id: employee_id as string,
    deduction_id: list === 'service' ? (id as string) : null,
    ...(list === 'people' ? { line_of_coverage: null, taxability: null } : { line_of_coverage, taxability }),
  };
  if (list === 'people') {
    addSide(sides, compared, null);
    return [];
  }
  const { member_contribution = '0', employer_contribution = '0' } = fields;
  const wrong = Object.entries({ member_contribution, employer_contribution }).filter(
    ([, value]) => !CONTRIBUTION.test(value),
  );
  if (wrong.length > 0) return wrong.map(([field, value]) => amountProblem(`${path}.${field}`, value));
  const amounts = { member: scaled(member_contribution), employer: scaled(employer_contribution) };
  addSide(sides, compared, { period: period as string, ...amounts });
  return [];
}

function addSide(sides: Sides, compared: Compared, amounts: Amounts | null, isPlaceholder = false): void {
  const { employee_id, deduction_id, line_of_coverage, taxability } = compared;
  const key = JSON.stringify([employee_id, deduction_id ?? [line_of_coverage, taxability]]);
  const side = sides.get(key) ?? { ...compared, isPlaceholder: false, sums: new Map() };
  side.isPlaceholder ||= isPlaceholder;
  sides.set(key, side);
  if (amounts === null) return;
  const { period, member, employer } = amounts;
  const sum = side.sums.get(period) ?? { member: 0n, employer: 0n };
  side.sums.set(period, { member: sum.member + member, employer: sum.employer + employer });
}

/** Returns the employees who work for the employer on a day. */
async function employeesOn(db: Db, employerId: string, day: string): Promise<Set<string>> {
  const working = new Set<string>();
  for (let after = ''; ; ) {
    const ids = await employeesOf(db, employerId, { after, limit: ROWS_AT_ONCE });
    const roster = await rosterOf(db, ids);
    for (const id of ids) {
      const jobs = jobsOn(employmentsOf(roster.get(id) ?? []), day);
      if (jobs.some(({ employer_id }) => employer_id === employerId)) working.add(id);
    }
    if (ids.length < ROWS_AT_ONCE) return working;
    after = ids.at(-1) as string;
    await new Promise(setImmediate);
  }
}

function peopleFrom(working: ReadonlySet<string>): Sides {
  const sides: Sides = new Map();
  for (const employee_id of working)
    addSide(sides, { employee_id, deduction_id: null, line_of_coverage: null, taxability: null }, null);
  return sides;
}

async function sidesInLedger(db: Db, { employerId, list, today: on, viewer }: Comparing): Promise<Sides> {
  const sides: Sides = new Map();
  let after: DeductionCursor | undefined;
  for (;;) {
    const page = await listDeductions(db, { employerId, on, viewer }, { after, limit: ROWS_AT_ONCE }, on);
    for (const { version, placeholder } of page.deductions) {
      const { employee_id, deduction_id, line_of_coverage, taxability, period } = version;
      const named = { employee_id, line_of_coverage, taxability };
      const [member, employer] = [scaled(version.member_contribution), scaled(version.employer_contribution)];
      const isMissing = placeholder?.replacement === null;
      const compared = { ...named, deduction_id: list === 'service' ? deduction_id : null };
      addSide(sides, compared, { period, member, employer }, isMissing);
    }
    if (page.next === null) return sides;
    after = page.next;
  }
}

function differenceOf(here: Side | null, file: Side | null): Kind | null {
  if (here?.isPlaceholder) return 'missing_id';
  if (here === null) return isNothing(file as Side) ? null : 'only_in_file';
  if (file === null) return isNothing(here) ? null : 'only_here';
  const isSame =
    here.line_of_coverage === file.line_of_coverage &&
    here.taxability === file.taxability &&
    printed(here) === printed(file);
  return isSame ? null : 'differs';
}

/** Returns whether a deduction takes nothing. An employee without amounts is something. */
function isNothing({ sums }: Side): boolean {
  return (
    sums.size > 0 && [...sums.values()].every(({ member, employer }) => member === 0n && employer === 0n)
  );
}

function viewDifference(
  difference: Kind,
  here: Side | null,
  file: Side | null,
  marks: ReadonlySet<string>,
): Difference {
  const { employee_id, deduction_id, line_of_coverage, taxability } = (here ?? file) as Side;
  const found = {
    ...{ difference, employee_id, deduction_id, line_of_coverage, taxability },
    here: here === null ? null : printed(here),
    file: file === null ? null : printed(file),
    signed_off: false,
  };
  return { ...found, signed_off: difference !== 'missing_id' && marks.has(markOf(found)) };
}

/** Returns `69.23 plus employer 161.53 biweekly`. */
function printed({ sums }: Side): string {
  const texts = [...sums].map(([period, { member, employer }]) => {
    const [own, employers] = [member, employer].map((units) => printReadable({ units, decimals: DECIMALS }));
    return `${own}${employer === 0n ? '' : ` plus employer ${employers}`} ${period}`;
  });
  return texts.sort().join('; ');
}

function sortKey({
  signed_off,
  difference,
  employee_id,
  line_of_coverage,
  taxability,
  deduction_id,
}: Difference): string {
  return JSON.stringify([signed_off, difference, employee_id, line_of_coverage, taxability, deduction_id]);
}
