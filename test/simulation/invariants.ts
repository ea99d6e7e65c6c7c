/** Checks of the invariants: after each step on its rows, at quiet points on everything, and at rest. */
import { KEYS } from '../../src/database/keys.ts';
import { openDatabase } from '../../src/database/open.ts';
import { FACTS } from '../../src/operations/facts.ts';
import { verifyRows } from '../../src/operations/verify.ts';
import { type ComparedRun, OF_RUN, verifyRun } from '../../src/payroll/records/verify-run-records.ts';
import { type FactRow, verifyGroup } from '../../src/security/verify-facts.ts';
import type { RecordOfAction } from '../../src/security/verify-recorded.ts';
import { breaches } from '../support/oracle.ts';
import { FEATURES, type Invariants } from './features/features.ts';
import type { Simulation } from './simulation.ts';

/** How far the positions and the acknowledged deliveries are checked. */
const progress = new WeakMap<Simulation, { position: number; acknowledged: number }>();

/** Checks the rows of a step: contiguous positions, one request of a subject at a time, nothing acknowledged missing. */
export function checkStep(simulation: Simulation): void {
  const { machine, provider, breach } = simulation;
  const { query } = machine;
  const before = progress.get(simulation) ?? { position: 0, acknowledged: 0 };
  const tables = ['deduction_versions', 'roster_facts', 'deduction_assignments'];
  const added = query<{ position: number }>(
    `${tables.map((table) => `select position from ${table} where position > ?`).join(' union all ')} order by position`,
    ...tables.map(() => before.position),
  );
  for (const [index, { position }] of added.entries()) {
    const expected = before.position + index + 1;
    if (position === expected) continue;
    breach(`position ${expected} is missing or taken twice`);
    return;
  }
  const overtaken = query(
    `select later.request_id from outbox as later join outbox as earlier
       on earlier.subject_type = later.subject_type and earlier.subject_id = later.subject_id
         and earlier.seq < later.seq
     where later.state = 'sending' and earlier.finished_at is null limit 1`,
  );
  for (const { request_id } of overtaken) breach(`${request_id} is sent before an earlier request`);
  for (const id of [...provider.acknowledged.keys()].slice(before.acknowledged)) {
    if (query('select 1 from inbox where event_id = ?', id).length === 0)
      breach(`${id} was acknowledged and is not stored`);
  }
  const position = before.position + added.length;
  progress.set(simulation, { position, acknowledged: provider.acknowledged.size });
}

/** The newest audit record whose rows were checked. */
const checkedRecords = new WeakMap<Simulation, number>();

type StoredRecord = Omit<RecordOfAction, 'details'> & { details: string };
const RECORDS = `select record_id, recorded_at, action, resource_id as resource, employer_id as employer,
  employee_id as employee, details, reason from audit_records where`;

/**
 * Checks, in the middle of a step, that a transaction wrote the rows that its audit records state, and an audit record of each
 * run that it made final or voided.
 */
export function checkCommit(simulation: Simulation): void {
  const { query } = simulation.machine;
  for (const { run_id, state } of query(UNRECORDED))
    simulation.breach(`the run ${run_id} is ${state}, and the same transaction wrote no audit record of it`);
  const stored = query<StoredRecord>(`${RECORDS} record_id > ?`, checkedRecords.get(simulation) ?? 0);
  const records = stored.map(
    (record): RecordOfAction => ({ ...record, details: JSON.parse(record.details) }),
  );
  for (const record of records) checkRecord(simulation, record);
  const newest = records.at(-1)?.record_id;
  if (newest !== undefined) checkedRecords.set(simulation, newest);
}

function checkRecord({ machine: { query }, breach }: Simulation, record: RecordOfAction): void {
  const report = (table: string, id: string | number, field: string, rule: string) =>
    breach(`the transaction of ${record.action} wrote: ${table} ${id}: ${field} ${rule}`);
  const fact = FACTS.find(({ actions }) => actions.includes(record.action));
  if (fact !== undefined) {
    const key = KEYS[fact.table].join(', ');
    const rows = query<FactRow>(
      `select * from ${fact.table} where record_id = ? order by ${key}`,
      record.record_id,
    );
    verifyGroup(fact, rows, new Map([[record.record_id, record]]), { report });
  }
  const [run] = query<ComparedRun>('select * from payroll_runs where run_id = ?', record.resource);
  if (run === undefined || !OF_RUN.some((action) => action === record.action)) return;
  const ofRun = query<StoredRecord>(
    `${RECORDS} resource_type = 'run' and resource_id = ? and action in ('${OF_RUN.join("', '")}') order by record_id`,
    run.run_id,
  );
  const parsed = ofRun.map((each) => ({ ...each, details: JSON.parse(each.details) }));
  verifyRun(run, parsed, (field, rule) => report('payroll_runs', run.run_id, field, rule));
}

const hasRecord = (action: string): string => `exists (select 1 from audit_records
  where resource_type = 'run' and resource_id = run_id and action = '${action}')`;
const UNRECORDED = `
  select run_id, state from payroll_runs where state <> 'open'
    and not (${hasRecord('run.finalize')} and (state = 'finalized' or ${hasRecord('run.void')})) limit 1`;

/** Within less time than this, an idle loop polls, a claim ends and the pause of the sender is over. */
const WAITS_MOST_MS = 150_000;
const CHECKED_EVERY_MS = 5_000;

/** When the waits were checked last, and since when an event or a request waits. */
const waits = new WeakMap<Simulation, { checkedAt: number; since: ReadonlyMap<string, number> }>();

/** Selects a due request of a lane without attempts, although the service responds or another request is tried repeatedly. */
const idleLane = (is: '=' | '<>'): string => `
  select request_id, attempts from outbox where state = 'pending' and is_next = 1 and due_at <= ? and kind ${is} 'census'
    and (select state from circuit_breaker) = 'active' and not exists (
      select 1 from delivery_attempts join outbox as tried using (request_id)
      where started_at > ? and tried.kind ${is} 'census')
    and (not exists (select 1 from delivery_attempts join outbox as tried using (request_id)
        where delivery_attempts.finished_at > ? and tried.state <> 'delivered')
      or exists (select 1 from delivery_attempts where started_at > outbox.due_at and started_at <= ?
        group by request_id having count(*) > 2))
  order by due_at, seq limit 1`;
const LANES = { 'an upload': idleLane('='), 'a change': idleLane('<>') };
/** Requests whose claim nothing renews and nothing takes over. */
const EXPIRED = "select request_id, attempts from outbox where state = 'sending' and lease_expires_at <= ?";

/**
 * Checks that no event waits for long, no due request of an idle lane, and no request with an expired claim. Nothing is expected while the database is locked
 * or full, or just after a start or a step of the clock.
 */
export function checkWaits(simulation: Simulation, pendingEvent: string | null): void {
  const { time, machine, faults } = simulation;
  const before = waits.get(simulation) ?? { checkedAt: 0, since: new Map<string, number>() };
  if (time.now() - before.checkedAt < CHECKED_EVERY_MS) return;
  const since = new Map<string, number>();
  waits.set(simulation, { checkedAt: time.now(), since });
  const isDisturbed = (['busy', 'full-disk', 'clock', 'stop', 'stuck-senders'] as const).some(faults.isOn);
  if (isDisturbed || time.now() - machine.startedAt() < WAITS_MOST_MS) return;
  const waiting = pendingEvent === null ? [] : [`the pending event ${pendingEvent}`];
  const now = new Date(time.now() + machine.skewMs).toISOString();
  const recently = new Date(time.now() + machine.skewMs - WAITS_MOST_MS).toISOString();
  for (const [lane, sql] of Object.entries(LANES)) {
    for (const { request_id, attempts } of machine.query(sql, now, recently, recently, now))
      waiting.push(`${lane} (${request_id}, attempted ${attempts} times)`);
  }
  for (const { request_id, attempts } of machine.query(EXPIRED, now))
    waiting.push(`the expired claim ${attempts} of ${request_id}`);
  for (const what of waiting) {
    since.set(what, before.since.get(what) ?? time.now());
    if (time.now() - (since.get(what) ?? 0) > WAITS_MOST_MS)
      simulation.breach(`${what} waits for ${WAITS_MOST_MS / 1_000} s, and nothing is done about it`);
  }
}

/** Checks everything, when nothing is under way. */
export async function checkWhole(simulation: Simulation): Promise<void> {
  const { provider, machine, confirmed, breach } = simulation;
  const { databaseUrl } = machine;
  const { sent } = provider;
  const broken = await breaches({ databaseUrl, acknowledged: provider.acknowledged.values(), sent });
  for (const what of broken) breach(what);
  for (const [query, ids] of confirmed) {
    const stored = new Set(machine.query<{ id: string }>(query).map(({ id }) => id));
    for (const id of ids) if (!stored.has(id)) breach(`${id} was confirmed and is not stored: ${query}`);
  }
  for (const { invariants = {} } of FEATURES) await check(simulation, invariants);
}

async function check(simulation: Simulation, invariants: Invariants): Promise<void> {
  for (const [name, broken] of Object.entries(invariants)) {
    const causes =
      typeof broken === 'string'
        ? simulation.machine.query(broken).map((row) => JSON.stringify(row))
        : await broken(simulation);
    for (const cause of causes) simulation.breach(`${name}: ${cause}`);
  }
}

/** Checks what must hold two hours after the last fault: `verify` finds nothing, and nothing waits. */
export async function checkRest(simulation: Simulation): Promise<void> {
  const { databaseUrl, encryptor } = simulation.machine;
  const db = openDatabase(databaseUrl);
  await verifyRows(db, encryptor, {
    report: (table, id, field, rule) => simulation.breach(`verify: ${table} ${id}: ${field} ${rule}`),
    looked: () => {},
    signal: new AbortController().signal,
  }).finally(() => db.destroy());
  for (const { rests = {} } of FEATURES) await check(simulation, rests);
}
