import type { Test } from 'tap';
import { systemClock } from '../../../src/clock.ts';
import { engineOf, sharedClock } from '../../../src/database/engine.ts';
import type { Db, Trx } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { type CheckReadiness, type Finalized, finalizeRun } from '../../../src/payroll/lifecycle/finalize.ts';
import { storedBasisOf } from '../../../src/payroll/records/basis.ts';
import type { RunBody } from '../../../src/payroll/records/body.ts';
import { removeAbandoned } from '../../../src/payroll/records/freezes.ts';
import { frozenOutcomeOf } from '../../../src/payroll/records/outcome.ts';
import { deleteRun } from '../../../src/payroll/records/runs.ts';
import { SYSTEM } from '../../../src/security/audit.ts';
import { open, scratch } from '../../database/scratch.ts';
import { ACTING } from '../../support/audit.ts';
import { onEachEngine, onEitherEngine } from '../../support/engine.ts';
import {
  body,
  election,
  employment,
  etagOf,
  finalize,
  finalized,
  LATELY,
  learn,
  linesOf,
  put,
  READY,
  send,
  setCodes,
  storedRun,
  taken,
  verified,
  view,
  voided,
} from '../../support/payroll.ts';
import { afterReads } from '../../support/reads.ts';

async function stagedAt(t: Test): Promise<{ db: Db; url: string }> {
  const { db, url } = await scratch(t);
  await learn(db, employment('e'), employment('f'), employment('x', { employer_id: 'other' }));
  await send(db, election('2025-12-01'), election('2025-12-01', { employee_id: 'x' }, 'x'));
  return { db, url };
}

const staged = async (t: Test): Promise<Db> => (await stagedAt(t)).db;

const test = onEitherEngine.with(staged);

/** Returns the number of freezes, and the rows of frozen employees by run. */
async function frozenRows(db: Db): Promise<{ freezes: number; employees: string[] }> {
  const freezes = await db.selectFrom('run_freezes').selectAll().execute();
  const rows = await db
    .selectFrom('run_employees')
    .leftJoin('payroll_runs', 'payroll_runs.freeze_id', 'run_employees.freeze_id')
    .select(['run_id', 'employee_id'])
    .execute();
  return { freezes: freezes.length, employees: rows.map((row) => `${row.run_id} ${row.employee_id}`).sort() };
}

const NOTHING = { freezes: 0, employees: [] };

/** Finalizes, and runs `work` after the computation and before the run becomes final. */
function during(db: Db, runId: string, work: () => Promise<unknown>): Promise<Finalized> {
  return finalize(db, runId, {}, async () => {
    await work();
    return READY;
  });
}

const REFUSALS: Record<string, { code: string; message?: RegExp }> = {
  unknown: { code: 'NOT_FOUND' },
  changed: { code: 'CONFLICT', message: /^Payroll data changed/ },
  'date-taken': { code: 'CONFLICT', message: /already finalized for this pay date/ },
};

test('finalizing freezes lines, options, pay dates, roster, rules and position', async (t, db) => {
  await put(db, 'r', body(2));
  const open = { view: await view(db, 'r'), lines: await linesOf(db, 'r') };
  const answer = await finalize(db, 'r');
  t.match(answer, { outcome: 'finalized', stored: { run_id: 'r', state: 'finalized' } });
  const stored = await storedRun(db, 'r');
  t.match(stored, {
    finalized_at: LATELY,
    position: open.view.position,
    rules_version: open.view.rulesVersion,
    etag: open.view.etag,
    force_reason: null,
  });
  t.match(frozenOutcomeOf(stored), { employees: 2 });
  t.match(storedBasisOf(stored), { run: { applies_on: 'pay_date' }, calendar: null });
  t.strictSame(await linesOf(db, 'r'), open.lines);
  t.strictSame((await view(db, 'r')).totals, open.view.totals);
  const frozen = await frozenRows(db);
  t.strictSame(frozen, { freezes: 0, employees: ['r e', 'r f'] }, 'f has no lines but was in the run');
  await send(db, election('2026-01-10', { member_contribution: '99' }));
  await learn(db, employment('e', { pay_frequency: 'weekly' }));
  t.strictSame(await linesOf(db, 'r'), open.lines, 'whatever comes later');
});

test('a run is finalized only with the reviewed ETag', async (t, db) => {
  await put(db, 'r', body(2));
  const { etag } = await view(db, 'r');
  await send(db, election('2026-01-10', { member_contribution: '11' }));
  const reviewed = (await view(db, 'r')).etag;
  const stale = { code: 'PRECONDITION_FAILED', message: /^The lines changed/, subject: reviewed };
  await t.rejects(finalize(db, 'r', { ifMatch: etag }), stale);
  t.strictSame(await frozenRows(db), NOTHING);
  t.match(await storedRun(db, 'r'), { state: 'open', freeze_id: null });
  await send(db, election('2026-01-11', { employee_id: 'x', member_contribution: '11' }, 'x'));
  const final = await finalize(db, 'r', { ifMatch: reviewed });
  t.match(final, { outcome: 'finalized' }, 'an event of a second employer does not matter');
});

test('a frequency, group and pay date have one finalized regular run until a void', async (t, db) => {
  await finalized(db, 'first', body(2));
  const outcome = async (runId: string, given: RunBody) => {
    await put(db, runId, given);
    return (await finalize(db, runId)).outcome;
  };
  await t.rejects(outcome('second', body(2)), { code: 'CONFLICT', message: /^The run first is already / });
  t.strictSame(await frozenRows(db), { freezes: 0, employees: ['first e', 'first f'] });
  t.equal(await outcome('weekly', body(2, { pay_frequency: 'weekly' })), 'finalized');
  t.equal(await outcome('employer', body(2, { employer_id: 'other' })), 'finalized');
  t.equal(await outcome('date', body(3)), 'finalized');
  const off = { kind: 'off_cycle', employee_ids: ['e'], deductions: ['a'] } as const;
  t.equal(await outcome('off', body(2, { ...off, employee_ids: ['e'], deductions: ['a'] })), 'finalized');
  t.equal(await outcome('off2', body(2, { ...off, employee_ids: ['e'], deductions: ['a'] })), 'finalized');
  await voided(db, 'first');
  t.equal((await finalize(db, 'second')).outcome, 'finalized');
});

test('the regular runs of a frequency and year all have a pay group or all have none', async (t, db) => {
  await finalized(db, 'all', body(2));
  const north = body(3, { pay_group: 'north' });
  await put(db, 'north', north);
  const mixed = {
    code: 'RUN_GROUPS_MIXED',
    message: /^The finalized run all has no pay group, so every biweekly run of 2026 must have none/,
  };
  await t.rejects(finalize(db, 'north'), mixed);
  for (const [id, apart] of Object.entries({
    weekly: { ...north, pay_frequency: 'weekly' },
    employer: { ...north, employer_id: 'other' },
    year: body(-1, { pay_group: 'north' }),
  } satisfies Record<string, RunBody>))
    t.equal((await finalized(db, id, apart)).state, 'finalized', id);
  await voided(db, 'all');
  t.match(await finalize(db, 'north'), { outcome: 'finalized' });
  await finalized(db, 'south', body(3, { pay_group: 'south' }));
  await put(db, 'none', body(4));
  await t.rejects(finalize(db, 'none'), {
    code: 'RUN_GROUPS_MIXED',
    message: /has a pay group.*must have one/,
  });
});

test('a repeated finalize returns the run', async (t, db) => {
  await put(db, 'r', body(2));
  const { etag } = await view(db, 'r');
  const key = { idempotencyKey: 'key-1' };
  t.match(await finalize(db, 'r', { ifMatch: etag, ...key }), { outcome: 'finalized' });
  const repeated = { outcome: 'repeated', stored: { run_id: 'r', etag } };
  t.match(await finalize(db, 'r', { ifMatch: etag }), repeated, 'by its ETag');
  t.match(await finalize(db, 'r', key), repeated, 'by its key');
  t.match(await finalize(db, 'r', { ifMatch: 'other', ...key }), repeated);
  const finalizedWith = { code: 'PRECONDITION_FAILED', message: /finalized with other lines/, subject: etag };
  await t.rejects(finalize(db, 'r', { ifMatch: 'other' }), finalizedWith);
  await t.rejects(finalize(db, 'r', { idempotencyKey: 'key-2' }), { code: 'PRECONDITION_REQUIRED' });
  t.notMatch(JSON.stringify(await storedRun(db, 'r')), 'key-1', 'only a hash of the key is stored');
  await voided(db, 'r');
  await t.rejects(finalize(db, 'r', { ifMatch: etag, ...key }), { message: /^The run is voided/ });
});

test('events recorded during finalizing have later positions than the run', async (t, db) => {
  await put(db, 'r', body(2));
  const { etag, position } = await view(db, 'r');
  const answer = await during(db, 'r', async () => {
    const ofF = election('2026-01-10', { member_contribution: '99' });
    await send(db, ofF, election('2025-12-01', { employee_id: 'f' }, 'b'));
    await learn(db, employment('e', { termination_date: '2026-01-01' }), employment('g'));
  });
  t.match(answer, { outcome: 'finalized', stored: { etag, position } });
  t.match(await linesOf(db, 'r'), [{ member_amount: '10.00' }]);
  t.match(await verified(db, 'r'), { identical: true });
});

const CODE = { line_of_coverage: 'medical', taxability: null, side: 'employee', code: 'M' } as const;
const setCode = (db: Db, employer?: string) => setCodes(db, [{ ...CODE, treatment: null }], employer);

/** The outcome of finalizing, and what happens during it. */
const INTERFERENCES: Record<string, (db: Db) => Promise<unknown>> = {
  'changed: another run of the employer is finalized': (db) => finalized(db, 'other', body(1)),
  'date-taken: a run of a pay group of the pay date is finalized': async (db) => {
    await voided(db, 'r0');
    await finalized(db, 'other', body(2, { pay_group: 'north' }));
  },
  'repeated: the run itself is finalized': (db) => finalize(db, 'r'),
  'changed: the previous run is voided': (db) => voided(db, 'r0'),
  'changed: deductions taken of an earlier run are reported': (db) =>
    taken(db, 'r0', { employee_id: 'e', amount: '1.00' }),
  "changed: the employer's codes change": (db) => setCode(db),
  'unknown: the run is deleted': (db) => transact(db, (trx) => deleteRun(trx, 'r', ACTING)),
  'changed: the run is deleted, and another one is created with its id': async (db) => {
    await transact(db, (trx) => deleteRun(trx, 'r', ACTING));
    await put(db, 'r', body(2, { employee_ids: ['e', 'f'] }));
  },
  'changed: written lines are deleted': (db) =>
    transact(db, (trx) => {
      const freezes = trx.selectFrom('run_freezes').select('freeze_id');
      const lines = trx.deleteFrom('run_employees').where('freeze_id', 'in', freezes);
      return lines.where('employee_id', '=', 'f').execute();
    }),
  'finalized: another run is created': (db) => put(db, 'other', body(3)),
  'finalized: a run of a second employer is finalized': (db) =>
    finalized(db, 'o', body(2, { employer_id: 'other' })),
  "finalized: another employer's codes change": (db) => setCode(db, 'other'),
};

for (const [name, work] of Object.entries(INTERFERENCES)) {
  const [outcome = '', what] = name.split(': ');
  onEitherEngine(`if ${what} during finalizing, the result is ${outcome}`, async (t) => {
    const db = await staged(t);
    await finalized(db, 'r0', body(0));
    await put(db, 'r', body(2));
    const refusal = REFUSALS[outcome];
    const answer = during(db, 'r', () => work(db));
    if (refusal === undefined) t.equal((await answer).outcome, outcome);
    else await t.rejects(answer, refusal);
    const { freezes, employees } = await frozenRows(db);
    t.equal(freezes, 0);
    const left = employees.filter((row) => row.startsWith('null'));
    t.strictSame(left, [], 'nothing is left behind');
  });
}

test('a run that is not ready, or fails, stays open with nothing left behind', async (t, db) => {
  await put(db, 'r', body(2));
  const ifMatch = await etagOf(db, 'r');
  const asked = { ifMatch, accept: null, actor: SYSTEM, sharedNow: async () => new Date(LATELY) };
  const acceptable = [
    {
      ...{ checkId: 'overlap', result: 'fail' as const, employeeId: null, ids: [] },
      finding: { check: 'overlap', text: 'emp-1' },
    },
  ];
  const refuses: CheckReadiness = async () => ({
    ready: false,
    checked_at: LATELY,
    checks: [],
    etag: '',
    open: [],
    acceptable,
    failed: acceptable,
    remembered: [],
  });
  await t.rejects(finalizeRun(db, 'r', asked, refuses), { code: 'READINESS_FAILED' });
  t.strictSame(await frozenRows(db), NOTHING);
  const fails: CheckReadiness = () => Promise.reject(new Error('no answer'));
  await t.rejects(finalizeRun(db, 'r', asked, fails), { message: 'no answer' });
  t.strictSame(await frozenRows(db), NOTHING);
  t.match(await storedRun(db, 'r'), { state: 'open' });
  t.match(await finalize(db, 'r'), { outcome: 'finalized' });
});

/** Makes all freezes older. PostgreSQL times them by its own clock. */
const ageFreezes = (db: Db) =>
  transact(db, (trx) =>
    trx.updateTable('run_freezes').set({ renewed_at: '2026-01-01T00:00:00.000Z' }).execute(),
  );

test('a later finalize removes the rows of a process that died', async (t, db) => {
  const leave = (freeze_id: string, rows: number, changes: { state?: 'abandoned' } = {}) =>
    transact(db, async (trx) => {
      const freeze = {
        freeze_id,
        state: 'writing',
        renewed_at: new Date().toISOString(),
        ...changes,
      } as const;
      await trx.insertInto('run_freezes').values(freeze).execute();
      for (let index = 0; index < rows; index += 1) {
        const row = { freeze_id, employee_id: `e${index}`, roster_position: null, lines: '[]' };
        await trx.insertInto('run_employees').values(row).execute();
      }
    });
  await leave('dead', 1_200);
  await leave('empty', 0);
  await ageFreezes(db);
  await leave('half-removed', 1, { state: 'abandoned' });
  await leave('at-work', 2);
  await put(db, 'r', body(2));
  t.match(await finalize(db, 'r', { sharedNow: sharedClock(systemClock) }), { outcome: 'finalized' });
  const freezes = await db.selectFrom('run_freezes').select('freeze_id').execute();
  t.strictSame(freezes, [{ freeze_id: 'at-work' }]);
  t.strictSame((await frozenRows(db)).employees, ['null e0', 'null e1', 'r e', 'r f']);
});

test('a run whose lines a clean-up removed stays open, and its caller tries again', async (t, db) => {
  await put(db, 'r', body(2));
  const late = during(db, 'r', async () => {
    await ageFreezes(db);
    await removeAbandoned(db, sharedClock(systemClock));
  });
  await t.rejects(late, { code: 'ABANDONED' });
  t.strictSame(await frozenRows(db), NOTHING);
  t.match(await storedRun(db, 'r'), { state: 'open', freeze_id: null });
  t.match(await finalize(db, 'r'), { outcome: 'finalized' });
});

onEitherEngine('a clean-up removes nothing of a run that became final after it looked', async (t) => {
  const { db, url } = await stagedAt(t);
  await put(db, 'r', body(2));
  const looked = Promise.withResolvers<void>();
  const isFinal = Promise.withResolvers<void>();
  const other = afterReads(open(t, url), (rows) => {
    if (rows[0]?.freeze_id === undefined) return;
    looked.resolve();
    return isFinal.promise;
  });
  let cleanUp: Promise<void> | undefined;
  const finalizing = during(db, 'r', async () => {
    await ageFreezes(db);
    cleanUp = removeAbandoned(other, sharedClock(systemClock));
    await looked.promise;
  });
  t.match(await finalizing, { outcome: 'finalized' });
  isFinal.resolve();
  await cleanUp;
  t.strictSame(await frozenRows(db), { freezes: 0, employees: ['r e', 'r f'] });
  t.match(await verified(db, 'r'), { identical: true });
});

onEachEngine('the database refuses to change or remove a finalized or voided run or its lines', async (t) => {
  const db = await staged(t);
  await finalized(db, 'final', body(2));
  await finalized(db, 'void', body(3));
  await voided(db, 'void');
  for (const run_id of ['final', 'void']) {
    const { freeze_id } = await storedRun(db, run_id);
    const final = freeze_id as string;
    const refused = async (what: string, work: (trx: Trx) => Promise<unknown>) =>
      t.rejects(transact(db, work), { message: /finalized/ }, `${run_id}: ${what}`);
    const lines = (trx: Trx) => trx.updateTable('run_employees').where('freeze_id', '=', freeze_id);
    const run = (trx: Trx) => trx.updateTable('payroll_runs').where('run_id', '=', run_id);
    await refused('lines changed', (trx) => lines(trx).set({ lines: '[]' }).execute());
    await refused('lines removed', (trx) =>
      trx.deleteFrom('run_employees').where('freeze_id', '=', freeze_id).execute(),
    );
    await refused('lines moved in from another freeze', async (trx) => {
      const row = { freeze_id: 'other', employee_id: 'ghost', lines: '[]' };
      await trx.insertInto('run_employees').values(row).execute();
      await trx
        .updateTable('run_employees')
        .where('freeze_id', '=', 'other')
        .set({ freeze_id: final })
        .execute();
    });
    if (engineOf(db) === 'sqlite') {
      const row = { freeze_id: final, employee_id: 'e', lines: '[]' };
      await refused('lines replaced', (trx) => trx.replaceInto('run_employees').values(row).execute());
    }
    await refused('run removed', (trx) =>
      trx.deleteFrom('payroll_runs').where('run_id', '=', run_id).execute(),
    );
    await refused('totals changed', (trx) => run(trx).set({ totals: '{}' }).execute());
    await refused('changed while voided', (trx) =>
      run(trx).set({ state: 'voided', voided_at: 'x', void_reason: 'y', position: 0 }).execute(),
    );
  }
  t.match(await verified(db, 'final'), { identical: true });
});
