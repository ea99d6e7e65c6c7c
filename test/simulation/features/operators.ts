/** Operators: they dismiss and reprocess, retry what was rejected, and read lists. */
import type { Simulation } from '../simulation.ts';
import { MINUTE_MS } from '../time.ts';
import type { Feature } from './features.ts';

/** An action of an operator is drawn from 0 to 1. */
const REPROCESSING = 0.35;

export const OPERATORS: Feature = {
  plan(simulation) {
    const { days } = simulation;
    const draw = simulation.random('operators');
    for (let count = Math.ceil(days * 1.5); count > 0; count -= 1)
      simulation.schedule(draw(), 'operator', () => act(simulation, draw()));
  },
  rush(simulation) {
    // No event of the rush wakes the apply loop any more.
    simulation.time.after(15 * MINUTE_MS, 'operator', () => act(simulation, REPROCESSING));
  },
  atRest(simulation) {
    // Rejected requests are sent again until none waits for an operator.
    for (let minutes = 1; minutes < 60; minutes += 9)
      simulation.time.after(minutes * MINUTE_MS, 'operator', () => post(simulation, RETRY));
  },
  rests: {
    async 'readiness finds nothing that waits'({ machine }) {
      const response = await machine.call('GET', '/v1/readiness');
      if (response?.status !== 200) return [`readiness responded ${response?.status}`];
      type Report = { checks: { id: string; result: string; findings: { text: string }[] }[] };
      return (response.body as Report).checks
        .filter(({ id, result }) => RESTING.has(id) && result === 'fail')
        .map(({ id, findings }) => `the check ${id} fails: ${findings[0]?.text}`);
    },
  },
  situations: {
    'dismissed event': 'inbox where dismissed_at is not null',
    'reprocessed event': 'inbox where reprocessed > 0',
  },
};

/** The checks that pass without an operator when everything that can continue has ended. */
const RESTING = new Set(['events-pending', 'circuit-breaker-paused', 'sending-stalled', 'requests-stuck']);

/** A request about each row of a query. */
type Post = { sql: string; urlOf: (id: string) => string; body?: object };

const DISMISS: Post = {
  sql: "select event_id as id from inbox where state = 'quarantined' and dismissed_at is null limit 1",
  urlOf: (id) => `/v1/events/${id}/dismiss`,
  body: { reason: 'seen in the simulation' },
};
const REPROCESS: Post = {
  sql: "select event_id as id from inbox where state in ('quarantined', 'ignored') order by seq desc limit 1",
  urlOf: (id) => `/v1/events/${id}/reprocess`,
};
const RETRY: Post = {
  sql: "select request_id as id from outbox where state = 'rejected' and subject_type = 'employee' order by seq",
  urlOf: (id) => `/v1/employee-changes/${id}/retry`,
  body: { force: true },
};

async function post({ machine }: Simulation, { sql, urlOf, body }: Post): Promise<void> {
  for (const { id } of machine.query<{ id: string }>(sql)) await machine.call('POST', urlOf(id), body);
}

async function act(simulation: Simulation, kind: number): Promise<void> {
  // The first start may have ended in the middle of the migration.
  if (!simulation.machine.isUp()) return;
  if (kind < 0.2) return post(simulation, DISMISS);
  if (kind <= REPROCESSING) return post(simulation, REPROCESS);
  if (kind < 0.5) return post(simulation, RETRY);
  const { machine } = simulation;
  await machine.call('GET', `/v1/${LISTS[Math.floor(kind * 1_000) % LISTS.length]}`);
  const final = "select run_id from payroll_runs where state <> 'open' order by finalized_at";
  for (const { run_id } of machine.query(final).slice(-2))
    await machine.call('GET', `/v1/payroll-runs/${run_id}`);
}

const LISTS = [
  ...['deductions', 'events', 'employee-changes', 'census-syncs', 'payroll-runs', 'readiness', 'activity'],
];
