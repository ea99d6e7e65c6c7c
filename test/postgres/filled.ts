/** A database with rows in every table, written by the functions that write them in production. */
import { sql } from 'kysely';
import { stageCensus } from '../../src/census/staging.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { checkChange } from '../../src/employment/change.ts';
import { dropBodies } from '../../src/inbox/drop-bodies.ts';
import { createRefusals } from '../../src/inbox/refusals.ts';
import { decideStart } from '../../src/ledger/start-decisions.ts';
import { createReadiness } from '../../src/operations/health.ts';
import { pauseSending } from '../../src/outbox/circuit-breaker.ts';
import { claim } from '../../src/outbox/claims.ts';
import { finish } from '../../src/outbox/finish.ts';
import type { AttemptOutcome } from '../../src/outbox/retry.ts';
import type { OpenItem } from '../../src/payroll/compute/open-items.ts';
import { type OpeningItem, putOpeningItems } from '../../src/payroll/facts/opening-items.ts';
import { acceptanceRows, recordAcceptances } from '../../src/payroll/lifecycle/acceptances.ts';
import { assignDeduction } from '../../src/payroll/lifecycle/assign.ts';
import { insertApproval } from '../../src/payroll/records/approvals.ts';
import { saveComputation } from '../../src/payroll/records/computations.ts';
import { setApproval } from '../../src/payroll/settings/approval.ts';
import { POLICY, putPolicy } from '../../src/payroll/settings/policy.ts';
import { record, SYSTEM, tokenActor } from '../../src/security/audit.ts';
import { beginSession } from '../../src/security/sessions.ts';
import { createToken, revokeToken } from '../../src/security/tokens.ts';
import { deductionOf, deliver, eventOf, receive } from '../api/deliver.ts';
import { censusOf, contentOf, person } from '../census/parts.ts';
import { acceptChange } from '../employment/stage.ts';
import { claimAs, encryptor, owe, setClock } from '../outbox/parts.ts';
import { acting } from '../support/audit.ts';
import {
  decideItem,
  EMPLOYER,
  employ,
  finalizedOn,
  openItemsOn,
  override,
  putOn,
  schedule,
  setCode,
  setSchedules,
  taken,
  voided,
} from '../support/payroll.ts';

/** A copy needs several batches for these, so that reading continues after the last row of a page. */
const DEDUCTIONS = 230;
/** One chunk holds fewer bytes. */
const PEOPLE_OF_CENSUS = 1_200;
const NOW = new Date('2026-06-01T12:00:00.000Z');

/** Ids that sort differently by language, by byte and in JavaScript. */
const AWKWARD_IDS = [
  ...'Zoë apple Apple éclair'.split(' '),
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
  found_at: NOW.toISOString(),
  position: 1,
  seq: 1,
  received_at: null,
  saved_position: 2,
  saved_seq: 2,
  saved_received_at: null,
  accepted_at: NOW.toISOString(),
  accepted_reason: 'replayed',
};

export type Filled = {
  /** A token with all scopes. */
  token: string;
  /** The last position of the ledger. */
  position: number;
};

/** Fills a migrated sandbox database of either engine. */
export async function fill(db: Db): Promise<Filled> {
  await createReadiness(db, () => NOW)();
  await fillLedger(db);
  await fillOutbox(db);
  await fillCensus(db);
  await fillPayroll(db);
  const create = (name: string) =>
    transact(db, (trx) =>
      createToken(trx, { name, scopes: ['all'], expiresAt: null, now: NOW, actor: SYSTEM }),
    );
  await create('revoked');
  await transact(db, (trx) => revokeToken(trx, 'revoked', acting(NOW)));
  const read = { action: 'change.read', resource: 'r-taken', details: { employee_id: 'e-taken' } } as const;
  const actor = tokenActor({ tokenId: 'tok_1', name: 'revoked' }, 'Zoë 🙂');
  await transact(db, (trx) => record(trx, { ...acting(NOW), actor }, read));
  const { token } = await create('kept');
  await transact(db, (trx) => trx.insertInto('data_losses').values(LOSS).execute());
  await transact(db, (trx) => beginSession(trx, token, NOW));
  const { position } = await db.selectFrom('ledger_head').select('position').executeTakeFirstOrThrow();
  return { token, position };
}

async function fillLedger(db: Db): Promise<void> {
  const ids = [...AWKWARD_IDS, ...Array.from({ length: DEDUCTIONS }, (_, index) => `emp-${index}`)];
  for (const employee_id of ids) await employ(db, employee_id);
  const of = (employee_id: string, version: number, createdAt: string) =>
    deductionOf(
      `evt-${employee_id}-${version}`,
      {
        id: `ded-${employee_id}`,
        employee_id,
        member_contribution: `${version}.50`,
        description: `${employee_id}\n\t“” ${version}`,
      },
      createdAt,
    );
  await deliver(db, [eventOf('evt-old', 'of.no.interest', {})], '2024-01-10T00:00:00.000Z');
  await dropBodies(db, '2025-01-01T00:00:00.000Z');
  await deliver(
    db,
    ids.map((id) => of(id, 1, '2026-01-10T00:00:00Z')),
  );
  // In order, late, and tied events.
  await deliver(
    db,
    ids.map((id) => of(id, 2, '2026-01-12T00:00:00Z')),
  );
  await deliver(
    db,
    ids.slice(0, 30).map((id) => of(id, 3, '2026-01-11T00:00:00Z')),
  );
  await deliver(
    db,
    ids.slice(0, 5).map((id) => of(id, 4, '2026-01-12T00:00:00Z')),
  );
  await deliver(db, [
    { eventId: 'evt-nonsense', body: Buffer.from([0, 255, 128, 39, 92]) },
    eventOf('evt-other', 'of.no.interest', {}),
    eventOf('evt-sync', 'employee-census.sync-request', { employer_id: 'b' }),
    eventOf('evt-sync-none', 'employee-census.sync-request', { employer_id: 'nobody' }),
    eventOf('evt-sync-done', 'employee-census.sync-complete', { employer_id: 'nobody' }),
  ]);
  const moved = { id: 'ded-moved', employee_id: 'emp-0', line_of_coverage: 'vision' };
  await deliver(db, [
    deductionOf('evt-moved-1', { ...moved, effective_start: '2026-07-01' }, '2026-05-01T00:00:00Z'),
    deductionOf(
      'evt-moved-2',
      { ...moved, member_contribution: '9.00', effective_start: '2026-08-01' },
      '2026-05-10T00:00:00Z',
    ),
  ]);
  // A duplicate, and the same id with another body.
  await receive(db, [of('apple', 1, '2026-01-10T00:00:00Z')]);
  await receive(db, [of('apple', 1, '2026-01-11T00:00:00Z'), of('Apple', 1, '2026-01-11T00:00:00Z')]);
  await receive(db, [of('waits', 1, '2026-01-10T00:00:00Z')]);
  const refusals = createRefusals(async () => NOW);
  refusals.count('signature');
  refusals.count('headers');
  await refusals.flush(db);
}

async function fillOutbox(db: Db): Promise<void> {
  const clock = setClock(NOW);
  for (const id of ['taken', 'refused', 'under-way', 'behind']) {
    await owe(db, `r-${id}`, id === 'behind' ? 'e-under-way' : `e-${id}`, 'demographic', clock());
    clock.advance(1);
  }
  const { claims } = await transact(db, (trx) => claim(trx, claimAs('first'), clock()));
  const by = { owner: 'first', senders: {}, encryptor, random: () => 0 };
  const answers: Record<string, number> = { 'r-taken': 200, 'r-refused': 422 };
  for (const one of claims) {
    const status = answers[one.requestId];
    if (status === undefined) continue;
    const outcome: AttemptOutcome = {
      responded: true,
      status,
      content: status === 422 ? 'json-error' : 'json',
      retryAfterMs: null,
      response: Buffer.from('{"error":"no"}'),
    };
    await transact(db, (trx) => finish(trx, by, [{ claim: one, kind: 'attempt', outcome, ms: 0 }], clock()));
  }
  await transact(db, (trx) => pauseSending(trx, 'the service responded with 401', clock()));
  const left = checkChange('termination', { employee_id: 'emp-7', termination_date: '2026-07-31' });
  if (left.ok) await acceptChange({ db, encryptor, sharedNow: async () => clock() }, left.change, 'key-7');
}

async function fillCensus(db: Db): Promise<void> {
  const stage = (employees: number) => {
    const people = Array.from({ length: employees }, (_, index) =>
      person(`c-${index}`, { first_name: 'Zoë' }),
    );
    return stageCensus({ db, encryptor, sharedNow: async () => NOW }, 'b', contentOf(censusOf(people)), {
      uploading: null,
    });
  };
  await stage(1);
  await stage(PEOPLE_OF_CENSUS);
}

async function fillPayroll(db: Db): Promise<void> {
  await setSchedules(db, [schedule()]);
  await setCode(db, 'medical');
  await finalizedOn(db, '2026-01-16');
  const rows = [1, 2].map((index) => ({ employee_id: `emp-${index}`, amount: '0.10' }));
  await taken(db, '2026-01-16', ...rows.slice(1));
  await taken(db, '2026-01-16', ...rows);
  await finalizedOn(db, '2026-01-30');
  await voided(db, '2026-01-30');
  await finalizedOn(db, '2026-02-13', { arrears: 'include' });
  await putOn(db, '2026-02-27');
  await fillDecisions(db);
  await fillItems(db);
  await fillApprovals(db);
  // The rows left by a process that died while finalizing.
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
  const fields = Object.entries(row).map(([column, value]) => [
    column,
    Buffer.isBuffer(value) ? { hex: value.toString('hex') } : value,
  ]);
  return JSON.stringify(fields.sort());
}

/** An opening item with a decision, and an open run with an override and its last computation. */
async function fillItems(db: Db): Promise<void> {
  const opening: OpeningItem = {
    ...{ openingId: 'brought', employeeId: 'emp-1', deductionId: null, lineOfCoverage: 'medical' },
    ...{ taxability: 'pre_tax', amount: { member: 500n, employer: 0n }, payDate: '2025-12-19' },
  };
  await transact(db, (trx) => putOpeningItems(trx, EMPLOYER, [opening], acting(NOW.toISOString())));
  const [item] = await openItemsOn(db, '2026-07-10');
  await decideItem(db, item as OpenItem, { action: 'take', amount: 100n });
  await override(db, '2026-02-27', 'emp-1', 'ded-emp-1');
  const result = {
    ...{ problem: null, employees: 2, lines: 2, etag: 'etag', member_amount: '1.00' },
    ...{ employer_amount: '1.00', member_difference: null, failed: [], warned: [] },
  };
  const computation = { position: 1, revision: 1, computed_at: NOW.toISOString(), result };
  await saveComputation(db, { run_id: '2026-02-27', ...computation });
}

/** A second approval that an employer requires, and one that a run has. */
async function fillApprovals(db: Db): Promise<void> {
  const by = acting(NOW.toISOString());
  const setting = { required: true, reason: 'two persons', person: 'person-1' };
  await transact(db, (trx) => setApproval(trx, EMPLOYER, setting, by));
  const approval = {
    ...{ runId: '2026-02-27', employerId: EMPLOYER, action: 'finalize' as const, etag: 'etag' },
    ...{ person: 'person-2', checks: [], findings: [], reason: 'reviewed' },
  };
  await transact(db, (trx) => insertApproval(trx, approval, by));
}

/** Decisions of operators: a policy, an accepted finding, and a decision on a moved start. */
async function fillDecisions(db: Db): Promise<void> {
  const now = NOW.toISOString();
  const policy = POLICY.check({ effective_from: '2026-03-01', remainder: 'spread' });
  if (!policy.ok) throw new Error(JSON.stringify(policy.problems));
  await transact(db, (trx) => putPolicy(trx, EMPLOYER, policy.value, acting(now)));
  const finding = {
    checkId: 'overlap',
    example: 'emp-1',
    result: 'fail' as const,
    employeeId: 'emp-1',
    ids: ['ded-emp-1:2'],
  };
  const ids = { runId: '2026-01-16', employerId: EMPLOYER };
  const acceptance = { checks: ['overlap'], reason: 'both are right' };
  await transact(db, async (trx) => {
    const recordId = await record(trx, acting(now), { action: 'run.finalize', resource: ids.runId });
    await recordAcceptances(trx, acceptanceRows(ids, [finding], acceptance, recordId));
  });
  const assigning = {
    deductionId: 'ded-apple',
    employerId: EMPLOYER,
    effectiveOn: '2027-01-01',
    reason: 'one job',
  };
  await assignDeduction(db, assigning, acting(now));
  const decision = { version: 1, decision: 'drop', reason: 'moved to August' } as const;
  await transact(db, (trx) => decideStart(trx, { deductionId: 'ded-moved', ...decision }, acting(now)));
}
