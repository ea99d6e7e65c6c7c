/** A database with rows in every table, written by the functions that write them in production. */
import { sql } from 'kysely';
import { stageCensus } from '../../src/census/staging.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { checkChange } from '../../src/employment/change.ts';
import { acceptLosses } from '../../src/inbox/data-loss.ts';
import { dropBodies } from '../../src/inbox/drop-bodies.ts';
import { createRefusals } from '../../src/inbox/refusals.ts';
import { noteRead } from '../../src/notifications/known.ts';
import { adoptTypes } from '../../src/notifications/store.ts';
import { testNotification } from '../../src/notifications/view.ts';
import { createReadiness } from '../../src/operations/health.ts';
import { planEndOfPilot, turnSendingOn } from '../../src/operations/pilot.ts';
import { pauseSending } from '../../src/outbox/circuit-breaker.ts';
import { claim } from '../../src/outbox/claims.ts';
import { finish } from '../../src/outbox/finish.ts';
import { startPilot } from '../../src/outbox/pilot.ts';
import type { AttemptOutcome } from '../../src/outbox/retry.ts';
import { saveComputation } from '../../src/payroll/records/computations.ts';
import { record, SYSTEM, tokenActor } from '../../src/security/audit.ts';
import { beginSession } from '../../src/security/sessions.ts';
import { createToken } from '../../src/security/tokens.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { deductionOf, deliver, eventOf, receive } from '../api/deliver.ts';
import { censusOf, contentOf, person } from '../census/parts.ts';
import { fillPayroll } from '../cli/verify-stage.ts';
import { acceptChange } from '../employment/stage.ts';
import { claimAs, encryptor, owe, setClock } from '../outbox/parts.ts';
import { acting } from '../support/audit.ts';
import { employ, finalizedOn } from '../support/payroll.ts';

/** A copy needs several batches of deductions, so that reading continues after a page, and of chunks of a census. */
const SIZES = { deductions: 230, people: 1_200 };
const NOW = new Date('2026-06-01T12:00:00.000Z');

/** Ids that sort differently by language, by byte and in JavaScript. */
const AWKWARD_IDS = [
  'Zoë',
  'apple',
  'Apple',
  'éclair',
  '\u{1f600}',
  '\uff5e',
  "o'neill",
  'a"b',
  'a\\b',
  '10',
  '9',
];

/** Written only by a sidecar on SQLite at startup. */
const LOSS = {
  ...{ found_at: NOW.toISOString(), position: 1, seq: 1, received_at: null },
  ...{ saved_position: 2, saved_seq: 2, saved_received_at: null },
  ...{ accepted_at: null, accepted_reason: null },
};

export type Filled = {
  /** A token with all scopes. */
  token: string;
  /** The last position of the ledger. */
  position: number;
};

/** Fills a migrated sandbox database of either engine. `verify` finds no difference in it. */
export async function fill(db: Db, sizes = SIZES): Promise<Filled> {
  await createReadiness(db, () => NOW)();
  await fillPilot(db);
  await fillPayroll(db);
  await fillLedger(db, sizes.deductions);
  await fillOutbox(db);
  await fillCensus(db, sizes.people);
  await fillRuns(db);
  const read = { action: 'change.read', resource: 'r-taken', details: { employee_id: 'e-taken' } } as const;
  const actor = tokenActor({ tokenId: 'tok_1', name: 'revoked' }, 'Zoë 🙂');
  await transact(db, (trx) => record(trx, { ...acting(NOW), actor }, read));
  await adoptTypes(db, { url: 'http://127.0.0.1', secrets: [], secretsFile: null, types: null });
  await transact(db, (trx) => testNotification(trx, acting(NOW)));
  await transact(db, (trx) => noteRead(trx, 'run.outdated', 'run:read', '{}'));
  const { token } = await transact(db, (trx) =>
    createToken(trx, { name: 'kept', scopes: ['all'], expiresAt: null, now: NOW, actor: SYSTEM }),
  );
  await transact(db, async (trx) => {
    await trx.insertInto('data_losses').values(LOSS).execute();
    await acceptLosses(trx, 'replayed', acting(NOW));
  });
  await transact(db, (trx) => beginSession(trx, token, NOW));
  const { position } = await db.selectFrom('ledger_head').select('position').executeTakeFirstOrThrow();
  return { token, position };
}

async function fillPilot(db: Db): Promise<void> {
  await transact(db, (trx) => startPilot(trx, acting(NOW)));
  await turnSendingOn(db, await planEndOfPilot(db), { actor: SYSTEM, sharedNow: async () => NOW });
}

async function fillLedger(db: Db, deductions: number): Promise<void> {
  const ids = [...AWKWARD_IDS, ...Array.from({ length: deductions }, (_, index) => `emp-${index}`)];
  for (const employee_id of ids) await employ(db, employee_id);
  const of = (employee_id: string, version: number, createdAt: string) => {
    const texts = { member_contribution: `${version}.50`, description: `${employee_id}\n\t“” ${version}` };
    const fields = { id: `ded-${employee_id}`, employee_id, ...texts };
    return deductionOf(`evt-${employee_id}-${version}`, fields, createdAt);
  };
  await deliver(db, [eventOf('evt-old', 'of.no.interest', {})], '2024-01-10T00:00:00.000Z');
  await dropBodies(db, '2025-01-01T00:00:00.000Z');
  // Events in order, late, and tied.
  for (const [version, count, day] of [
    [1, ids.length, 10],
    [2, ids.length, 12],
    [3, 30, 11],
    [4, 5, 12],
  ] as const) {
    const events = ids.slice(0, count).map((id) => of(id, version, `2026-01-${day}T00:00:00Z`));
    await deliver(db, events);
  }
  await deliver(db, [
    { eventId: 'evt-nonsense', body: Buffer.from([0, 255, 128, 39, 92]) },
    eventOf('evt-other', 'of.no.interest', {}),
    eventOf('evt-new-field', 'employee-census.sync-request', { employer_id: 'nobody', new_field: '' }),
    eventOf('evt-sync', 'employee-census.sync-request', { employer_id: 'b' }),
    eventOf('evt-sync-none', 'employee-census.sync-request', { employer_id: 'nobody' }),
    eventOf('evt-sync-done', 'employee-census.sync-complete', { employer_id: 'nobody' }),
  ]);
  // A duplicate, and the same id with another body.
  await receive(db, [of('apple', 1, '2026-01-10T00:00:00Z')]);
  await receive(db, [of('apple', 1, '2026-01-11T00:00:00Z'), of('Apple', 1, '2026-01-11T00:00:00Z')]);
  await receive(db, [of('waits', 1, '2026-01-10T00:00:00Z')]);
  const refusals = createRefusals(async () => NOW, silentLog);
  refusals.count('signature');
  refusals.count('headers');
  await refusals.flush(db);
}

async function fillOutbox(db: Db): Promise<void> {
  const clock = setClock(NOW);
  for (const id of ['taken', 'refused', 'under-way', 'behind']) {
    const employee = id === 'behind' ? 'e-under-way' : `e-${id}`;
    await owe(db, `r-${id}`, employee, 'demographic', clock());
    const report = { action: 'change.report', resource: `r-${id}`, employee, details: {} } as const;
    await transact(db, (trx) => record(trx, acting(clock()), report));
    clock.advance(1);
  }
  const { claims } = await transact(db, (trx) => claim(trx, claimAs('first'), clock()));
  const by = { owner: 'first', senders: {}, encryptor, random: () => 0 };
  const answers: Record<string, number> = { 'r-taken': 200, 'r-refused': 422 };
  for (const one of claims) {
    const status = answers[one.requestId];
    if (status === undefined) continue;
    const content = status === 422 ? 'json-error' : 'json';
    const response = Buffer.from('{"error":"no"}');
    const outcome: AttemptOutcome = { responded: true, status, content, retryAfterMs: null, response };
    await transact(db, (trx) => finish(trx, by, [{ claim: one, kind: 'attempt', outcome, ms: 0 }], clock()));
  }
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', clock()));
  const left = checkChange('termination', { employee_id: 'emp-7', termination_date: '2026-07-31' });
  if (left.ok) await acceptChange({ db, encryptor, sharedNow: async () => clock() }, left.change, 'key-7');
}

async function fillCensus(db: Db, people: number): Promise<void> {
  const staging = { db, encryptor, sharedNow: async () => NOW };
  for (const employees of [1, people]) {
    const ids = Array.from({ length: employees }, (_, index) => `c-${index}`);
    const census = censusOf(ids.map((id) => person(id, { first_name: 'Zoë' })));
    await stageCensus(staging, 'b', contentOf(census), { uploading: null });
  }
}

/** Writes the rows of runs in progress: a computation, and rows left by a process that died while finalizing. */
async function fillRuns(db: Db): Promise<void> {
  await finalizedOn(db, '2026-07-31');
  const result = {
    ...{ problem: null, employees: 2, lines: 2, etag: 'etag', member_amount: '1.00' },
    ...{
      employer_amount: '1.00',
      member_difference: null,
      open_items: 0,
      failed: [],
      failed_findings: [],
      warned: [],
    },
  };
  const computation = { position: 1, revision: 1, computed_at: NOW.toISOString(), result };
  await saveComputation(db, { run_id: '2026-07-17', ...computation });
  const left = { freeze_id: 'left-behind', state: 'writing', renewed_at: NOW.toISOString() } as const;
  await transact(db, (trx) => trx.insertInto('run_freezes').values(left).execute());
}

type Content = Map<string, string[]>;

/** Returns every row of the tables as text, in an order that does not depend on the engine. */
export async function contentOfTables(db: Db, names: readonly string[]): Promise<Content> {
  const content: Content = new Map();
  for (const name of names) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(db);
    content.set(name, rows.map(textOf).sort());
  }
  return content;
}

function textOf(row: Record<string, unknown>): string {
  const plain = (value: unknown) => (Buffer.isBuffer(value) ? { hex: value.toString('hex') } : value);
  const fields = Object.entries(row).map(([column, value]) => [column, plain(value)]);
  return JSON.stringify(fields.sort());
}
