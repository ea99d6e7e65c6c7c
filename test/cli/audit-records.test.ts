/** Every command leaves one record of the action that it declares. */
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import t from 'tap';
import { Command } from '../../src/cli/command.ts';
import { createOutput } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import { transact } from '../../src/database/transaction.ts';
import { compareCutOver } from '../../src/payroll/reconciliation/cut-over.ts';
import type { Action } from '../../src/security/audit.ts';
import { readHead } from '../../src/security/audit-chain.ts';
import { beginSession } from '../../src/security/sessions.ts';
import { apply, deductionOf, deliver } from '../api/deliver.ts';
import { CENSUS_FORMAT, heldSync } from '../census/parts.ts';
import { census, deduction } from '../contract/samples.ts';
import { report, SAMPLES } from '../employment/stage.ts';
import { tellTest } from '../notifications/parts.ts';
import { onEitherEngine } from '../support/engine.ts';
import { EMPLOYER, employ, etagOf, LATELY, rowsOf, sync } from '../support/payroll.ts';
import { here } from './harness.ts';
import { optionsOn, PAY_DATE, payrollStage, type Stage } from './payroll-stage.ts';

/** `records`: 2 for an action of several transactions. */
type Step = { argv: readonly string[]; action: Action; records?: number };

/** The key of the test's encryptor. */
const DATA_KEYS = `k1:${Buffer.alloc(32, 7).toString('base64')}`;

const WAITING = `sync-${EMPLOYER}-waiting-${LATELY}`;

/** Commands on a whole database: their own tests look for their records. */
const TESTED_ELSEWHERE = new Set(['backup', 'copy', 'migrate', 'restore', 'sending on']);

async function stepsOf(stage: Stage): Promise<(Step | (() => Promise<unknown>))[]> {
  const { db, file, deduct } = stage;
  const hire = await report(db, 'new-hire', 'ann');
  const move = await report(db, 'demographic', 'ann');
  await sync(db, { state: 'waiting' });
  const held = await heldSync(db, () => new Date(), 'held-co');
  // The first command below gives a reason.
  const { record_id } = await readHead(db);
  const at = new Date().toISOString();
  const reason = ['--reason', 'a test'];
  const employer = ['--employer', EMPLOYER];
  const json = (name: string, value: object) => file(`${name}.json`, JSON.stringify(value));
  const settings = (name: string, value: object) => [name, 'put', json(name, value), ...employer];
  const imported = { ...deduction, id: 'ded-before' };
  const overridden = ['r', '--employee', 'emp-1', '--deduction', 'ded-1'];
  const amounts = ['--employee-amount', '1.00', '--employer-amount', '0'];
  const taken = file('taken.csv', 'employee_id,amount\nemp-1,1.00\n');
  const opening = file(
    'opening.csv',
    'id,employee_id,line_of_coverage,taxability,member_amount,employer_amount,pay_date\no,emp-1,medical,pre_tax,1,0,2025-06-01\n',
  );
  const codes = [{ line_of_coverage: 'medical', side: 'employee', code: 'MED' }];
  const rejected = { state: 'rejected', is_next: 0, holds_later: 1, finished_at: at } as const;
  const longAgo = { finished_at: '2026-01-01T00:00:00.000Z' };
  const loss = {
    ...{ found_at: at, position: 0, seq: 0, received_at: null },
    ...{ saved_position: 1, saved_seq: 1, saved_received_at: null },
    ...{ accepted_at: null, accepted_reason: null },
  };
  const retrying = ['notification', 'retry'];
  const people = file('people.csv', 'employee_id\nemp-1\n');
  const cutOver = { employerId: EMPLOYER, list: 'people', today: at.slice(0, 10), viewer: null } as const;
  const { etag } = await compareCutOver(db, cutOver, rowsOf({ employee_id: 'emp-1' }));
  const finalizing = ['run', 'finalize', 'r', '--etag'];
  const accepting = ['run', 'accept-findings', 'next', '--accept', 'overlap', ...reason, '--etag'];
  return [
    {
      argv: ['cut-over', 'sign', 'people', people, ...employer, '--etag', etag, ...reason],
      action: 'cut-over.sign',
    },
    { argv: ['census', 'dismiss', WAITING, ...reason, '--yes'], action: 'census-sync.dismiss' },
    { argv: ['census', 'release', held, ...reason, '--yes'], action: 'census-sync.release' },
    { argv: ['audit', 'erase-reason', String(record_id + 1), ...reason, '--yes'], action: 'reason.erase' },
    { argv: ['run', 'create', 'r', ...optionsOn(PAY_DATE)], action: 'run.create' },
    { argv: ['run', 'delete', 'r', '--yes'], action: 'run.delete' },
    { argv: ['run', 'create', 'r', ...optionsOn(PAY_DATE)], action: 'run.create' },
    { argv: ['run', 'override', ...overridden, ...amounts, ...reason], action: 'run.override' },
    { argv: ['run', 'remove-override', ...overridden], action: 'run.remove-override' },
    async () => {
      finalizing.push((await etagOf(db, 'r')) ?? '');
    },
    { argv: finalizing, action: 'run.finalize' },
    {
      argv: ['evidence', 'run', 'r', join(dirname(taken), 'evidence.tar'), '--personal-data'],
      action: 'run.read',
    },
    {
      argv: ['employer', 'export', ...employer, join(dirname(taken), 'employer.tar'), '--personal-data'],
      action: 'employer.export',
    },
    { argv: ['run', 'taken', 'r', taken], action: 'run.taken' },
    { argv: ['run', 'void', 'r', ...reason, '--yes'], action: 'run.void' },
    { argv: ['run', 'create', 'next', ...optionsOn(PAY_DATE)], action: 'run.create' },
    async () => {
      await deduct('evt-o', { id: 'ded-o', employee_id: 'emp-1' }, '2026-01-02T00:00:00Z');
      accepting.push((await stage.json('run readiness next')).etag);
    },
    { argv: accepting, action: 'run.accept-findings' },
    { argv: ['items', 'open', opening, ...employer], action: 'item.open' },
    {
      argv: ['items', 'decide', ...employer, '--employee', 'emp-1', '--action', 'hold', ...reason],
      action: 'item.decide',
    },
    { argv: ['approval', 'require', ...employer, ...reason], action: 'approval-setting.put' },
    { argv: settings('codes', { codes }), action: 'codes.put' },
    { argv: settings('format', CENSUS_FORMAT), action: 'file-format.put' },
    {
      argv: settings('policy', { effective_from: '2026-01-01', applies_on: 'period_end' }),
      action: 'policy.put',
    },
    { argv: [...settings('schedule', { schedules: [] }), '--year', '2026'], action: 'schedule.put' },
    async () => {
      await deduct('evt-m', { id: 'ded-m', effective_start: '2027-07-01' }, '2026-06-01T00:00:00Z');
    },
    {
      argv: ['deductions', 'assign', 'ded-m', ...employer, '--effective-on', '2027-01-01', ...reason],
      action: 'deduction.assign',
    },
    () => deliver(db, [deductionOf('evt-bad', { member_contribution: 'much' })], at),
    { argv: ['events', 'dismiss', 'evt-bad', ...reason, '--yes'], action: 'event.dismiss' },
    { argv: ['events', 'reprocess', 'evt-bad'], action: 'event.reprocess' },
    () => apply(db, at),
    { argv: ['events', 'reprocess', '--state', 'quarantined'], action: 'event.reprocess' },
    () =>
      transact(db, (trx) => trx.updateTable('outbox').set(rejected).where('request_id', '=', hire).execute()),
    { argv: ['change', 'release', hire], action: 'change.release' },
    { argv: ['change', 'retry', hire], action: 'change.retry' },
    { argv: ['change', 'cancel', move, ...reason, '--yes'], action: 'change.cancel' },
    { argv: ['census', 'sync', ...employer], action: 'census-sync.request' },
    { argv: ['token', 'create', '--name', 'grafana', '--scope', 'metrics:read'], action: 'token.create' },
    { argv: ['token', 'revoke', 'grafana', '--yes'], action: 'token.revoke' },
    () => transact(db, (trx) => beginSession(trx, 'a token', new Date(at))),
    { argv: ['session', 'end', '--all', '--yes'], action: 'session.end' },
    async () => {
      retrying.push(await tellTest(db));
    },
    { argv: ['notification', 'test'], action: 'notification.test' },
    { argv: retrying, action: 'notification.retry' },
    () => transact(db, (trx) => trx.insertInto('data_losses').values(loss).execute()),
    { argv: ['accept-loss', ...reason, '--yes'], action: 'loss.accept' },
    ...Object.entries(SAMPLES).map(
      ([kind, fields]): Step => ({
        argv: ['change', kind, json(kind, { ...fields, employee_id: 'zoe' })],
        action: 'change.report',
      }),
    ),
    { argv: ['census', 'stage', json('census', census), ...employer], action: 'census.stage', records: 2 },
    {
      argv: ['import', 'deductions', file('deductions.ndjson', JSON.stringify(imported))],
      action: 'deduction.import',
      records: 2,
    },
    () => employ(db, 'gone-1', { employer_id: 'gone', termination_date: '2025-12-31' }),
    { argv: ['census', 'erase', '--employer', 'gone', ...reason, '--yes'], action: 'census.erase' },
    { argv: ['keys', 'rotate'], action: 'key.rotate', records: 2 },
    () =>
      transact(db, (trx) => trx.updateTable('outbox').set(longAgo).where('request_id', '=', move).execute()),
    { argv: ['retention', '--yes'], action: 'retention.apply', records: 2 },
  ];
}

onEitherEngine('every command that declares an action leaves exactly one record of it', async (t) => {
  const stage = await payrollStage(t);
  const { db } = stage;
  const env = { ...stage.env, DATA_KEYS, RETENTION_REQUESTS: '2d' };
  const records = () => db.selectFrom('audit_records').selectAll().orderBy('record_id').execute();
  const covered = new Map<string, Action>();
  const declared = await declaredActions();
  for (const name of TESTED_ELSEWHERE) declared.delete(name);
  for (const step of await stepsOf(stage)) {
    if (typeof step === 'function') {
      await step();
      continue;
    }
    const { argv, action, records: count = 1 } = step;
    const before = (await records()).length;
    const { code, stderr } = await here(t, env, [...argv]);
    t.equal(code, 0, `${argv.slice(0, 2).join(' ')}: ${code === 0 ? '' : stderr}`);
    const made = (await records()).slice(before);
    t.match(made, Array(count).fill({ action, actor_kind: 'cli', actor_name: userInfo().username }), action);
    t.equal(made.length, count, action);
    for (const name of declared.keys())
      if (`${argv.join(' ')} `.startsWith(`${name} `)) covered.set(name, action);
  }
  t.strictSame(new Map([...covered].sort()), new Map([...declared].sort()));
});

t.test('a command that declares no action prevents the start', async (t) => {
  const command = new Command('forgotten', () => async () => {});
  t.throws(() => command.does(async () => {}), /the command forgotten declares no action/);
});

/** Returns the declared action of each command that records one. */
async function declaredActions(): Promise<Map<string, Action>> {
  const out = createOutput({ stdout: new PassThrough(), stderr: new PassThrough() }, {}, () => {});
  const actionsOf = (command: Command, path: string[]): [string, Action][] =>
    command.recorded === null
      ? command.commands.flatMap((child) => actionsOf(child as Command, [...path, child.name()]))
      : command.recorded === 'none'
        ? []
        : [[path.join(' '), command.recorded]];
  return new Map(actionsOf(await createProgram(out, () => async () => {}), []));
}
