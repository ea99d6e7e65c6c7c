/** Verifies runs against the audit records of the actions that created, finalized and voided them. */
import { sql } from 'kysely';
import { isOneOf, pagesByKey } from '../../database/bulk.ts';
import type { Verifying } from '../../database/difference.ts';
import type { Db, RunState } from '../../database/tables.ts';
import {
  type RecordOfAction,
  recordsOfResources,
  recordsWithoutResource,
} from '../../security/verify-recorded.ts';
import { hashOf } from './basis.ts';
import { FINAL_COLUMNS, hashOfFinal } from './outcome.ts';
import type { StoredRun } from './runs.ts';

const ROWS_AT_ONCE = 500;

export const OF_RUN = ['run.create', 'run.delete', 'run.finalize', 'run.void'] as const;
type OfRun = (typeof OF_RUN)[number];

/** A frozen basis may be megabytes. */
const COMPARED = [
  ...(['run_id', 'employer_id', 'kind', 'pay_frequency', 'pay_group', 'pay_date', 'state'] as const),
  ...(['created_at', 'voided_at', 'body', ...FINAL_COLUMNS] as const),
] as const;
export type ComparedRun = Pick<StoredRun, (typeof COMPARED)[number]>;
type Columns = Partial<Record<keyof ComparedRun, unknown>>;

/** The actions that brought a run into its state. */
const LED_TO: Readonly<Record<RunState, readonly OfRun[]>> = {
  open: ['run.create'],
  finalized: ['run.create', 'run.finalize'],
  voided: ['run.create', 'run.finalize', 'run.void'],
};

/** Checks that each run is as its audit records state, and that each of these records has its run. */
export async function verifyRunRecords(db: Db, on: Verifying): Promise<void> {
  const selected = sql.join(COMPARED.map((column) => sql.ref(column)));
  for await (const runs of pagesByKey<ComparedRun>(db, 'payroll_runs', selected, ROWS_AT_ONCE)) {
    on.signal.throwIfAborted();
    const wrong = await wrongRuns(db, runs);
    if (wrong.size === 0) continue;
    // A run that changes between the reads of runs and records is wrong only once.
    const ids = [...wrong.keys()];
    const read = db
      .selectFrom('payroll_runs')
      .select(COMPARED)
      .where(isOneOf(db, 'run_id', ids));
    const again = await wrongRuns(db, await read.execute());
    for (const [id, rules] of wrong)
      for (const [field, rule] of rules)
        if (again.get(id)?.some((other) => other[0] === field && other[1] === rule))
          on.report('payroll_runs', id, field, rule);
  }
  for (const action of LED_TO.voided) {
    const orphans = await recordsWithoutResource(
      db,
      action,
      { table: 'payroll_runs', key: 'run_id' },
      'run.delete',
    );
    for (const recordId of orphans)
      on.report('audit_records', recordId, 'resource_id', `is no run, although the record states ${action}`);
  }
}

/** Returns the runs that are not as their audit records state, with the fields and the rules that these break. */
async function wrongRuns(db: Db, runs: readonly ComparedRun[]): Promise<Map<string, [string, string][]>> {
  const ids = runs.map(({ run_id }) => run_id);
  const records = await recordsOfResources(db, OF_RUN, ids);
  const wrong = new Map<string, [string, string][]>();
  for (const run of runs) {
    const broken: [string, string][] = [];
    verifyRun(run, records.get(run.run_id) ?? [], (field, rule) => broken.push([field, rule]));
    if (broken.length > 0) wrong.set(run.run_id, broken);
  }
  return wrong;
}

/** Checks that a run is as its audit records state, in their order. */
export function verifyRun(
  run: ComparedRun,
  records: readonly RecordOfAction[],
  wrong: (field: string, rule: string) => void,
): void {
  // An id is used again after its run was deleted.
  const deleted = records.findLastIndex(({ action }) => action === 'run.delete');
  const made = new Map<OfRun, RecordOfAction>();
  for (const record of records.slice(deleted + 1)) {
    const action = record.action as OfRun;
    if (made.has(action)) wrong('state', `has several audit records of ${action}`);
    made.set(action, record);
  }
  // The engine refuses other states, but not in a damaged file.
  const expected = LED_TO[run.state] ?? [];
  for (const action of expected) {
    const record = made.get(action);
    if (record === undefined) wrong('state', `is ${run.state} without an audit record of ${action}`);
    else verifyRecord(run, action, record, wrong);
  }
  for (const action of made.keys()) {
    if (!expected.includes(action))
      wrong('state', `is ${run.state}, although an audit record states ${action}`);
  }
}

function verifyRecord(
  run: ComparedRun,
  action: OfRun,
  { recorded_at, employer, details }: RecordOfAction,
  wrong: (field: string, rule: string) => void,
): void {
  const stated: Columns = { ...statedBy(action, details, recorded_at), employer_id: employer };
  if (action === 'run.create' && details.body_hash !== hashOf(run.body))
    wrong('body', 'does not have the hash that its audit record of run.create states');
  if (action === 'run.finalize' && details.content_hash !== hashOfFinal(run))
    wrong('outcome_hash', 'or another field is not as its audit record of run.finalize states');
  for (const [name, value] of Object.entries(stated)) {
    if (run[name as keyof ComparedRun] !== value)
      wrong(name, `is not as its audit record of ${action} states`);
  }
}

/** Returns the columns of a run as a record states them. */
function statedBy(
  action: OfRun,
  { kind, pay_frequency, pay_group, pay_date, etag, position }: RecordOfAction['details'],
  at: string,
): Columns {
  if (action === 'run.create') return { kind, pay_frequency, pay_group, pay_date, created_at: at };
  return action === 'run.finalize' ? { etag, position, finalized_at: at } : { voided_at: at };
}
