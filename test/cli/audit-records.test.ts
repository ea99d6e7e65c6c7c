/** Every command that changes something leaves one record of its action, or is listed here as one that leaves none. */
import { userInfo } from 'node:os';
import { PassThrough } from 'node:stream';
import type { Command } from 'commander';
import { requestSync } from '../../src/census/syncs.ts';
import { createOutput } from '../../src/cli/output.ts';
import { createProgram } from '../../src/cli/program.ts';
import { transact } from '../../src/database/transaction.ts';
import type { Action } from '../../src/security/audit.ts';
import { apply, deductionOf, deliver } from '../api/deliver.ts';
import { report } from '../employment/stage.ts';
import { onEitherEngine } from '../support/engine.ts';
import { EMPLOYER } from '../support/payroll.ts';
import { here } from './harness.ts';
import { optionsOn, PAY_DATE, payrollStage, type Stage } from './payroll-stage.ts';

/** Commands that change nothing that people decide, by the reason. */
const NONE: Readonly<Record<string, readonly string[]>> = {
  'reads only': [
    ...['doctor', 'readiness', 'verify', 'completion', 'schedule show', 'policy show', 'codes show'],
    ...['run preview', 'run list', 'run show', 'run lines', 'run readiness', 'run verify', 'run taken-lines'],
    ...['run audit', 'deductions list', 'deductions versions', 'events list', 'events show'],
    ...['events conflicts', 'change list', 'change show', 'token list', 'census validate', 'keys generate'],
  ],
  'reads, and records a read of personal data': ['census show'],
  'runs a sidecar, or sends to one': ['serve', 'demo', 'simulate', 'replay'],
  'data of payroll': [
    ...['import deductions', 'census stage', 'change new-hire', 'change termination'],
    ...['change demographic', 'change compensation-change'],
  ],
  'works on the whole database': ['migrate', 'backup', 'restore', 'copy', 'retention', 'keys rotate'],
};

type Step = { argv: readonly string[]; action: Action };

async function stepsOf(stage: Stage): Promise<(Step | (() => Promise<unknown>))[]> {
  const { db, file, deduct } = stage;
  const hire = await report(db, 'new-hire', 'ann');
  const move = await report(db, 'demographic', 'ann');
  const sync = { employerId: EMPLOYER, eventId: 'evt-sync', now: '2026-01-01T00:00:00.000Z' };
  await transact(db, (trx) => requestSync(trx, sync));
  const { sync_id } = await db
    .selectFrom('census_syncs')
    .select('sync_id')
    .where('event_id', '=', 'evt-sync')
    .executeTakeFirstOrThrow();
  const at = new Date().toISOString();
  const reason = ['--reason', 'a test'];
  const settings = (name: string, value: object) => [
    ...[name, 'put', file(`${name}.json`, JSON.stringify(value))],
    ...['--employer', EMPLOYER],
  ];
  const taken = file('taken.csv', 'employee_id,amount\nemp-1,1.00\n');
  const codes = [{ line_of_coverage: 'medical', side: 'employee', code: 'MED' }];
  const rejected = { state: 'rejected', is_next: 0, holds_later: 1, finished_at: at } as const;
  const loss = {
    ...{ found_at: at, position: 0, seq: 0, received_at: null },
    ...{ saved_position: 1, saved_seq: 1, saved_received_at: null },
    ...{ accepted_at: null, accepted_reason: null },
  };
  return [
    { argv: ['census', 'dismiss', sync_id, ...reason, '--yes'], action: 'census-sync.dismiss' },
    { argv: ['run', 'create', 'r', ...optionsOn(PAY_DATE)], action: 'run.create' },
    { argv: ['run', 'delete', 'r', '--yes'], action: 'run.delete' },
    { argv: ['run', 'create', 'r', ...optionsOn(PAY_DATE)], action: 'run.create' },
    { argv: ['run', 'finalize', 'r', '--yes'], action: 'run.finalize' },
    { argv: ['run', 'taken', 'r', taken], action: 'run.taken' },
    { argv: ['run', 'void', 'r', ...reason, '--yes'], action: 'run.void' },
    { argv: settings('codes', { codes }), action: 'codes.put' },
    { argv: settings('policy', { effective_from: '2026-01-01', remainder: 'spread' }), action: 'policy.put' },
    { argv: settings('schedule', { schedules: [] }), action: 'schedule.put' },
    async () => {
      await deduct('evt-m1', { id: 'ded-m', effective_start: '2027-07-01' }, '2026-06-01T00:00:00Z');
      const later = { id: 'ded-m', effective_start: '2027-08-01', member_contribution: '99.00' };
      await deduct('evt-m2', later, '2026-06-20T00:00:00Z');
    },
    {
      argv: ['deductions', 'decide', 'ded-m', '--version', '1', '--decision', 'drop', ...reason],
      action: 'deduction.decide-start',
    },
    {
      argv: [
        'deductions',
        'assign',
        'ded-m',
        '--employer',
        EMPLOYER,
        '--effective-on',
        '2027-01-01',
        ...reason,
      ],
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
    { argv: ['census', 'sync', '--employer', EMPLOYER], action: 'census-sync.request' },
    { argv: ['token', 'create', '--name', 'grafana', '--scope', 'metrics:read'], action: 'token.create' },
    { argv: ['token', 'revoke', 'grafana', '--yes'], action: 'token.revoke' },
    () => transact(db, (trx) => trx.insertInto('data_losses').values(loss).execute()),
    { argv: ['accept-loss', ...reason, '--yes'], action: 'loss.accept' },
  ];
}

onEitherEngine('every command that changes something leaves exactly one record of its action', async (t) => {
  const stage = await payrollStage(t);
  const { env, db } = stage;
  const records = () => db.selectFrom('audit_records').selectAll().orderBy('record_id').execute();
  const covered = new Set<string>();
  for (const step of await stepsOf(stage)) {
    if (typeof step === 'function') {
      await step();
      continue;
    }
    const { argv, action } = step;
    const before = (await records()).length;
    const { code, stderr } = await here(t, env, [...argv]);
    t.equal(code, 0, `${argv.slice(0, 2).join(' ')}: ${code === 0 ? '' : stderr}`);
    const made = (await records()).slice(before);
    t.match(made, [{ action, actor_kind: 'cli', actor_name: userInfo().username }], action);
    t.equal(made.length, 1, action);
    for (const name of await leaves()) if (argv.join(' ').startsWith(`${name} `)) covered.add(name);
  }
  t.strictSame(
    (await leaves()).filter((name) => !covered.has(name)).sort(),
    Object.values(NONE).flat().sort(),
    'each other command is listed as one without a record',
  );
});

/** Returns the names of all commands that are no groups. */
async function leaves(): Promise<string[]> {
  const out = createOutput({ stdout: new PassThrough(), stderr: new PassThrough() }, {}, () => {});
  const namesOf = ({ commands }: Command, path: string[]): string[] =>
    commands.length === 0
      ? [path.join(' ')]
      : commands.flatMap((command) => namesOf(command, [...path, command.name()]));
  return namesOf(await createProgram(out, () => async () => {}), []);
}
