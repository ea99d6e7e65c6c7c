/** What must hold: after each step on its rows, at quiet points on everything, and at rest. */
import { openDatabase } from '../../src/database/open.ts';
import { verifyRows } from '../../src/operations/verify.ts';
import { breaches } from '../support/oracle.ts';
import { FEATURES, type Invariant } from './features/features.ts';
import type { Simulation } from './simulation.ts';

type Progress = { position: number; acknowledged: number };

const progress = new WeakMap<Simulation, Progress>();

/** Checks the rows of a step: contiguous positions, one request of a subject at a time, nothing acknowledged missing. */
export function checkStep(simulation: Simulation): void {
  const { machine, provider } = simulation;
  const { query } = machine;
  const before = progress.get(simulation) ?? { position: 0, acknowledged: 0 };
  const added = query<{ position: number }>(
    `select position from deduction_versions where position > ?
     union all select position from roster_facts where position > ?
     union all select position from start_decisions where position > ?
     union all select position from deduction_assignments where position > ? order by position`,
    ...Array(4).fill(before.position),
  );
  for (const [index, { position }] of added.entries()) {
    if (position !== before.position + index + 1) {
      simulation.breach(`position ${before.position + index + 1} is missing or taken twice`);
      return;
    }
  }
  const overtaken = query(
    `select later.request_id from outbox as later join outbox as earlier
       on earlier.subject_type = later.subject_type and earlier.subject_id = later.subject_id
         and earlier.seq < later.seq
     where later.state = 'sending' and earlier.finished_at is null limit 1`,
  );
  for (const { request_id } of overtaken)
    simulation.breach(`${request_id} is sent before an earlier request`);
  for (const id of [...provider.acknowledged.keys()].slice(before.acknowledged)) {
    if (query('select 1 from inbox where event_id = ?', id).length === 0) {
      simulation.breach(`${id} was acknowledged and is not stored`);
    }
  }
  const position = before.position + added.length;
  progress.set(simulation, { position, acknowledged: provider.acknowledged.size });
}

/** Longer than an idle loop polls, than a claim is leased, and than the sender pauses. */
const WAITS_MOST_MS = 150_000;

const CHECKED_EVERY_MS = 5_000;

/** When the waits were checked last, and since when an event or a request waits. */
type Waits = { checkedAt: number; since: ReadonlyMap<string, number> };
const waits = new WeakMap<Simulation, Waits>();

/**
 * Checks that an event does not wait for long, and that a due request waits only while its lane starts attempts, or while
 * the service fails and no other request is started again and again. Nothing is expected while the database is locked or
 * full, or just after a start or a step of the clock.
 */
export function checkWaits(simulation: Simulation, pendingEvent: string | null): void {
  const { time, machine, faults } = simulation;
  const before = waits.get(simulation) ?? { checkedAt: 0, since: new Map<string, number>() };
  if (time.now() - before.checkedAt < CHECKED_EVERY_MS) return;
  const since = new Map<string, number>();
  waits.set(simulation, { checkedAt: time.now(), since });
  const isDisturbed = ['busy', 'full-disk', 'clock', 'stop'].some((kind) => faults.isOn(kind as 'busy'));
  if (isDisturbed || time.now() - machine.startedAt() < WAITS_MOST_MS) return;
  const waiting = pendingEvent === null ? [] : [`the pending event ${pendingEvent}`];
  const now = new Date(time.now() + machine.skewMs).toISOString();
  const recently = new Date(time.now() + machine.skewMs - WAITS_MOST_MS).toISOString();
  for (const [lane, is] of [
    ['an upload', '='],
    ['a change', '<>'],
  ] as const) {
    const rows = machine.query(
      `select request_id, attempts from outbox where state = 'pending' and is_next = 1 and due_at <= ? and kind ${is} 'census'
       and (select state from circuit_breaker) = 'active' and not exists (
         select 1 from delivery_attempts join outbox as tried using (request_id)
         where started_at > ? and tried.kind ${is} 'census')
       and (not exists (select 1 from delivery_attempts join outbox as tried using (request_id)
           where delivery_attempts.finished_at > ? and tried.state <> 'delivered')
         or exists (select 1 from delivery_attempts where started_at > outbox.due_at and started_at <= ?
           group by request_id having count(*) > 2))
       order by due_at, seq limit 1`,
      ...[now, recently, recently, now],
    );
    waiting.push(
      ...rows.map(({ request_id, attempts }) => `${lane} (${request_id}, attempted ${attempts} times)`),
    );
  }
  for (const what of waiting) {
    since.set(what, before.since.get(what) ?? time.now());
    if (time.now() - (since.get(what) ?? 0) > WAITS_MOST_MS) {
      simulation.breach(`${what} waits for ${WAITS_MOST_MS / 1_000} s, and nothing is done about it`);
    }
  }
}

/** Checks everything, when nothing is under way. */
export async function checkWhole(simulation: Simulation): Promise<void> {
  const { provider, machine } = simulation;
  const { databaseUrl } = machine;
  const found = await breaches({
    databaseUrl,
    acknowledged: provider.acknowledged.values(),
    sent: provider.sent,
  });
  for (const what of found) simulation.breach(what);
  for (const [query, ids] of simulation.confirmed) {
    const stored = new Set(machine.query<{ id: string }>(query).map(({ id }) => id));
    for (const id of ids)
      if (!stored.has(id)) simulation.breach(`${id} was confirmed and is not stored: ${query}`);
  }
  for (const { invariants = [] } of FEATURES) await check(simulation, invariants);
}

async function check(simulation: Simulation, invariants: readonly Invariant[]): Promise<void> {
  for (const { name, broken } of invariants) {
    const found =
      typeof broken === 'string'
        ? simulation.machine.query(broken).map((row) => JSON.stringify(row))
        : await broken(simulation);
    for (const what of found) simulation.breach(`${name}: ${what}`);
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
  for (const { rests = [] } of FEATURES) await check(simulation, rests);
}
