/** Imports the deductions that the service sent before the sidecar existed, from a file, as events. */
import { createHash } from 'node:crypto';
import { PROBLEMS_MAX, within } from '../contract/check.ts';
import { Deduction, deduction } from '../contract/deduction.ts';
import { DEDUCTION_UPDATED, envelope } from '../contract/events.ts';
import { dayOf, isSet, toInstant } from '../contract/instant.ts';
import type { Db, Trx } from '../database/tables.ts';
import { dayAt } from '../database/time-zone.ts';
import { transact } from '../database/transaction.ts';
import { AppError, type Problem } from '../errors.ts';
import {
  type Columns,
  createProblems,
  type GivenRow,
  type Problems,
  type Rows,
  readableRows,
} from '../formats/rows.ts';
import { employersOn, employmentsOf, jobsOn } from '../ledger/employment.ts';
import { nearIds, nearWarning } from '../ledger/near-ids.ts';
import { type Account, isPlaceholderId, placeholderId, replacementsOf } from '../ledger/placeholders.ts';
import { latestVersions } from '../ledger/record.ts';
import { rosterOf } from '../ledger/roster.ts';
import { type Acting, recordStartAndEnd } from '../security/audit.ts';
import { type Arrival, eventsById, importId, sha256, storeArrivals } from './inbox.ts';

const FIELDS = Object.keys(Deduction.properties);
/** A row without the service's id is a placeholder. */
const REQUIRED: readonly string[] = Deduction.required.filter((field) => field !== 'id');

export const IMPORT_COLUMNS: Columns = {
  list: 'deductions',
  required: REQUIRED,
  optional: [...FIELDS.filter((field) => !REQUIRED.includes(field)), 'created_at'],
  format: 'deductions',
};

/** Rows of one file. Their ids are kept in memory to detect duplicates; the largest payrolls have fewer. */
const IMPORT_ROWS_MAX = 1_000_000;
/** Rows per transaction: about 10 ms of the write lock, so that deliveries are stored in between. */
const ROWS_AT_ONCE = 250;

/**
 * `placeholders`: rows without an id of the service. `stored`: events that are new and now pending; the others were imported
 * before. `warnings`: at most `PROBLEMS_MAX`.
 */
type Imported = { rows: number; placeholders: number; stored: number; warnings: Problem[] };

/**
 * `employerId`: the employer of the file, for the audit record. `isOwnOnly`: rows may name only employees of this employer, and no
 * deduction that the service has sent.
 */
type Importing = {
  readonly noteRead?: ((trx: Trx) => Promise<void>) | undefined;
  readonly isPreview?: boolean;
  readonly employerId?: string | undefined;
  readonly isOwnOnly?: boolean;
};

/** A row as an event. Equal rows have equal bodies, and so the same id. */
type RowEvent = Arrival & {
  path: string;
  deductionId: string;
  employeeId: string;
  createdAt: string | null;
  /** What a row without an id stands for; else null. */
  account: Account | null;
};
type FirstRow = { path: string; isTimed: boolean };

/**
 * Checks every row, then stores each as a pending event for the apply loop. `open` starts reading the rows from the
 * beginning: they are read twice, so that a wrong row rejects the file before anything is stored. `now` is the time of
 * receipt and of the audit records, and the event time of rows without `created_at`. `noteRead` is called before
 * the first row is stored. A preview stores nothing. Throws ROWS_REFUSED, FILE_CHANGED and what the content throws.
 */
export async function importDeductions(
  db: Db,
  open: () => Rows,
  { actor, now }: Acting,
  { noteRead = async () => {}, isPreview = false, employerId, isOwnOnly = false }: Importing = {},
): Promise<Imported> {
  const problems = createProblems();
  const checked = createHash('sha256');
  const first = new Map<string, FirstRow>();
  const warnings: Problem[] = [];
  let rows = 0;
  let placeholders = 0;
  let added = 0;
  for await (const some of readableRows(open(), IMPORT_COLUMNS, problems, ROWS_AT_ONCE)) {
    rows += some.length;
    if (rows > IMPORT_ROWS_MAX) {
      problems.add({ path: IMPORT_COLUMNS.list, rule: `must have at most ${IMPORT_ROWS_MAX} elements` });
      break;
    }
    const events = some.flatMap((row) => eventOf(row, now, problems) ?? []);
    for (const event of events) {
      if (event.account !== null) placeholders += 1;
      checked.update(event.eventId);
      problems.add(...repeated(first, event));
    }
    const today = dayAt(db, now);
    const foreign = isOwnOnly ? await ofOthers(db, events, employerId, today) : new Map<RowEvent, Problem>();
    problems.add(...foreign.values());
    // A further problem of these rows would show what another employer has.
    const own = events.filter((event) => !foreign.has(event));
    problems.add(...(await overwriting(db, own, isOwnOnly)));
    problems.add(...(await ofTwoEmployers(db, own, today)));
    const warned = [
      ...some.flatMap(endWarning),
      ...(await nearEmployees(db, some)),
      ...(await replacedRows(db, events)),
    ];
    warnings.push(...warned.slice(0, PROBLEMS_MAX - warnings.length));
    if (isPreview) {
      const ids = new Set(events.map(({ eventId }) => eventId));
      added += ids.size - (await eventsById(db, [...ids])).size;
    }
  }
  problems.assertNone();
  if (isPreview) return { rows, placeholders, stored: added, warnings };
  const file = checked.digest('hex');
  const stored = await recordStartAndEnd(
    db,
    { actor, time: async () => new Date(now) },
    {
      ...{ action: 'deduction.import', resource: null, details: { rows, placeholders } },
      ...(employerId !== undefined && { employer: employerId }),
    },
    async () => {
      await transact(db, noteRead);
      return store(db, open(), file, now);
    },
    (count) => ({ stored: count }),
  );
  return { rows, placeholders, stored, warnings };
}

async function store(db: Db, rows: Rows, digest: string, now: string): Promise<number> {
  const problems = createProblems();
  const read = createHash('sha256');
  let stored = 0;
  for await (const some of readableRows(rows, IMPORT_COLUMNS, problems, ROWS_AT_ONCE)) {
    const events = some.flatMap((row) => eventOf(row, now, problems) ?? []);
    for (const { eventId } of events) read.update(eventId);
    stored += (await transact(db, (trx) => storeArrivals(trx, events, now, 'import'))).accepted;
    // Let other work run: a file may have a million rows.
    await new Promise(setImmediate);
  }
  if (!problems.isEmpty || read.digest('hex') !== digest)
    throw new AppError('FILE_CHANGED', 'the file changed while it was read: import it again');
  return stored;
}

/** Returns a function that adds the problems of each row of a file that the file alone shows. */
export function rowChecker(now: string, problems: Problems): (row: GivenRow) => void {
  const first = new Map<string, FirstRow>();
  return (row) => {
    const event = eventOf(row, now, problems);
    if (event !== null) problems.add(...repeated(first, event));
  };
}

/** Returns the event of a row; null if the row breaks the contract, after adding its problems. */
function eventOf({ path, fields }: GivenRow, now: string, problems: Problems): RowEvent | null {
  const account = fields.id === undefined ? accountOf(fields) : null;
  const id = fields.id ?? placeholderId(accountOf(fields));
  const named: GivenRow['fields'] = { ...fields, id };
  // In the contract's order, whatever the order of the columns, because the text decides the id.
  const data = Object.fromEntries(
    FIELDS.filter((field) => named[field] !== undefined).map((field) => [field, named[field]]),
  );
  const createdAt = fields.created_at ?? null;
  const event = { event_type: DEDUCTION_UPDATED, data, ...(createdAt !== null && { created_at: createdAt }) };
  const isValid = deduction.accepts(data) && envelope.accepts(event);
  if (!isValid && problems.isFull) {
    problems.addUnlisted(deduction.count(data) + envelope.count(event));
    return null;
  }
  const wrong = isValid
    ? []
    : [...deduction.problems(data, PROBLEMS_MAX, 'hints'), ...envelope.problems(event)];
  if (wrong.length === 0 && createdAt !== null) {
    const time = toInstant(createdAt) as string;
    if (time > toInstant(now)!) wrong.push({ path: 'created_at', rule: 'must not be later than now' });
    if (!isSet(time)) wrong.push({ path: 'created_at', rule: 'must be in 2000 or later' });
  }
  if (isPlaceholderId(id) && id !== placeholderId(accountOf(fields)))
    wrong.push({ path: 'id', rule: 'must be an ID of the benefits service: leave it out if it is unknown' });
  problems.add(...wrong.map((problem) => within(path, problem)));
  if (wrong.length > 0) return null;
  const body = Buffer.from(JSON.stringify(event));
  const eventId = importId(sha256(body));
  return { eventId, body, path, deductionId: id, employeeId: fields.employee_id ?? '', createdAt, account };
}

/** Returns what a row without an id stands for. A row that lacks one of these has problems. */
function accountOf({
  employee_id = '',
  line_of_coverage = '',
  taxability = '',
}: GivenRow['fields']): Account {
  return { employee_id, line_of_coverage, taxability };
}

/** Several rows of one deduction are its states, and only their times order them. */
function repeated(
  first: Map<string, FirstRow>,
  { deductionId, path, createdAt, account }: RowEvent,
): Problem[] {
  const before = first.get(deductionId);
  const isTimed = createdAt !== null;
  if (before === undefined) first.set(deductionId, { path, isTimed });
  if (before === undefined || (before.isTimed && isTimed)) return [];
  const rule =
    account === null
      ? `is the same as ${before.path}.id: rows of one deduction need created_at`
      : `is required: ${before.path} is of the same employee, line of coverage and taxability. Without IDs, make one row of both`;
  return [{ path: `${path}.id`, rule }];
}

/** Warns about a deduction that no run takes. */
function endWarning({ path, fields: { effective_start = '', effective_end = '' } }: GivenRow): Problem[] {
  const [start, end] = [dayOf(effective_start), dayOf(effective_end)];
  if (start === null || end === null || end >= start) return [];
  return [{ path: `${path}.effective_end`, rule: 'is before effective_start: no run takes the deduction' }];
}

/** Warns about rows of employees whom the roster has under a similar id. Others may be in a census that is yet to come. */
async function nearEmployees(db: Db, rows: readonly GivenRow[]): Promise<Problem[]> {
  const employees = [...new Set(rows.flatMap(({ fields }) => fields.employee_id ?? []))];
  const roster = await rosterOf(db, employees);
  const unknown = employees.filter((id) => !roster.has(id));
  const near = await nearIds(db, unknown, null);
  return rows.flatMap(({ path, fields }) => {
    const match = near.get(fields.employee_id ?? '');
    return match === undefined ? [] : [nearWarning(`${path}.employee_id`, match)];
  });
}

/** Warns about rows without an id of which the ledger has the service's deduction. */
async function replacedRows(db: Db, events: readonly RowEvent[]): Promise<Problem[]> {
  const rows = events.flatMap(({ path, deductionId, account }) =>
    account === null ? [] : [{ path, deduction_id: deductionId, ...account }],
  );
  const replacements = await replacementsOf(db, rows);
  return rows.flatMap(({ path, deduction_id }) => {
    const replacement = replacements.get(deduction_id);
    if (replacement == null) return [];
    const from = replacement.from === null ? '' : ` from ${replacement.from}`;
    return [{ path: `${path}.id`, rule: `is missing: ${replacement.deduction_id} replaces this row${from}` }];
  });
}

/** Rejects rows without an id of employees who work for two employers: it would be unknown which of them takes the amount. */
async function ofTwoEmployers(db: Db, events: readonly RowEvent[], today: string): Promise<Problem[]> {
  const rows = events.flatMap(({ path, account }) => (account === null ? [] : [{ path, ...account }]));
  const roster = await rosterOf(db, [...new Set(rows.map(({ employee_id }) => employee_id))]);
  return rows.flatMap(({ path, employee_id }) => {
    const jobs = jobsOn(employmentsOf(roster.get(employee_id) ?? []), today);
    const rule = 'is required: this employee works for two employers';
    return jobs.length < 2 ? [] : [{ path: `${path}.id`, rule }];
  });
}

/** Returns the problems of rows of another employer's employees, and of rows with the ID of another employee's deduction. */
async function ofOthers(
  db: Db,
  events: readonly RowEvent[],
  employerId: string | undefined,
  today: string,
): Promise<Map<RowEvent, Problem>> {
  const roster = await rosterOf(db, [...new Set(events.map(({ employeeId }) => employeeId))]);
  const ids = events.map(({ deductionId }) => deductionId);
  const known = await latestVersions(db, ids)
    .select(['deductions.deduction_id', 'deduction_versions.employee_id'])
    .execute();
  const owners = new Map(known.map(({ deduction_id, employee_id }) => [deduction_id, employee_id]));
  const problems = new Map<RowEvent, Problem>();
  for (const event of events) {
    const { path, deductionId, employeeId } = event;
    const [employer, ...others] = employersOn(employmentsOf(roster.get(employeeId) ?? []), today);
    const owner = owners.get(deductionId) ?? employeeId;
    if (employer !== employerId || others.length > 0)
      problems.set(event, { path: `${path}.employee_id`, rule: NOT_EMPLOYED });
    else if (owner !== employeeId)
      problems.set(event, { path: `${path}.id`, rule: 'is the ID of a deduction of another employee' });
  }
  return problems;
}

const NOT_EMPLOYED =
  'must be an employee of this employer and of no other employer: check the ID and its prefix, or stage the census first';

/** Rejects new rows without a time if the service sent their deduction: its state may be newer. `isAny`: also rows with a time. */
async function overwriting(db: Db, events: readonly RowEvent[], isAny: boolean): Promise<Problem[]> {
  const checked = events.filter((event) => isAny || event.createdAt === null);
  if (checked.length === 0) return [];
  const deductions = checked.map((event) => event.deductionId);
  const rows = await latestVersions(db, deductions)
    .innerJoin('inbox', 'inbox.event_id', 'deduction_versions.event_id')
    .select('deductions.deduction_id')
    .where('inbox.source', '=', 'webhook')
    .execute();
  const sent = new Set(rows.map(({ deduction_id }) => deduction_id));
  const suspects = checked.filter((event) => sent.has(event.deductionId));
  const ids = suspects.map((event) => event.eventId);
  const known = await eventsById(db, ids);
  const problem = isAny
    ? {
        field: 'id',
        rule: 'is the ID of a deduction that the service has sent, and only the service changes it',
      }
    : {
        field: 'created_at',
        rule: 'is required: the service has sent this deduction, and only a time shows which state is newer',
      };
  return suspects
    .filter((event) => !known.has(event.eventId))
    .map(({ path }) => ({ path: `${path}.${problem.field}`, rule: problem.rule }));
}
