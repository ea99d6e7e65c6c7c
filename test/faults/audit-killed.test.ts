/** A command that is killed at any call leaves no change without its audit record, and no record without its change. */
import { type RawBuilder, sql } from 'kysely';
import t, { type Test } from 'tap';
import type { Engine } from '../../src/database/engine.ts';
import type { Db } from '../../src/database/tables.ts';
import type { Action } from '../../src/security/audit.ts';
import { verifyAudit } from '../../src/security/verify-audit.ts';
import { filesOf, payrollStage } from '../cli/payroll-stage.ts';
import { termination } from '../contract/samples.ts';
import { differencesOf } from '../support/differences.ts';
import { onEachEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { daysAfter, EMPLOYER } from '../support/payroll.ts';
import { executeKilled, straceMissing } from '../support/strace.ts';

const skip = await straceMissing();
/** The calls that write to a database file and make writes durable, or that write to the connection of a server. */
const CALLS: Readonly<Record<Engine, readonly string[]>> = {
  sqlite: ['pwrite64', 'fsync', 'fdatasync'],
  postgres: ['write', 'writev'],
};
/** Changes in three transactions. */
const CHANGES = 250;

t.setTimeout(900_000);

type Command = {
  readonly action: Action;
  /** Returns the arguments of the nth run of the command. Each run changes something else. */
  readonly argv: (nth: number) => readonly string[];
  /** Selects the ids of the rows that it writes. The audit records of the action must name these ids. */
  readonly written: RawBuilder<{ id: string | number }>;
  readonly namedBy: 'record_id' | 'resource_id';
};

/** Returns commands of different kinds and the database on which they run. */
async function startCommands(t: Test) {
  const { env, db } = await payrollStage(t);
  const file = filesOf(t);
  const rows = Array.from({ length: CHANGES }, (_, row) => ({ ...termination, employee_id: `e-${row}` }));
  const changes = file('changes.ndjson', rows.map((row) => JSON.stringify(row)).join('\n'));
  const commands: readonly Command[] = [
    {
      action: 'change.report',
      argv: (nth) => ['change', 'termination', changes, '--key-prefix', `n${nth}`],
      written: sql`select request_id as id from outbox where kind = 'termination'`,
      namedBy: 'resource_id',
    },
    {
      action: 'policy.put',
      argv: (nth) => {
        const version = { effective_from: daysAfter('2027-01-01', nth), applies_on: 'period_end' };
        return ['policy', 'put', file(`policy-${nth}.json`, JSON.stringify(version)), '--employer', EMPLOYER];
      },
      written: sql`select record_id as id from payroll_policies`,
      namedBy: 'record_id',
    },
    {
      action: 'token.create',
      argv: (nth) => ['token', 'create', '--name', `n${nth}`, '--scope', 'runs:read'],
      written: sql`select token_id as id from tokens`,
      namedBy: 'resource_id',
    },
  ];
  return { env, db, commands };
}

/** Waits until the server has ended the transactions of killed processes. */
async function othersEnded(db: Db, engine: Engine): Promise<void> {
  if (engine === 'sqlite') return;
  const others = sql<{ pid: number }>`select pid from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`;
  await eventually('the transactions end', async () => (await others.execute(db)).rows.length, 0);
}

onEachEngine('a killed command leaves exactly the records of its changes', { skip }, async (t, engine) => {
  const { env, db, commands } = await startCommands(t);
  for (const { action, argv, written, namedBy } of commands) {
    const writtenIds = async () => (await written.execute(db)).rows.map(({ id }) => String(id)).sort();
    const outcomes = new Set<number>();
    let [nth, next] = [1, 2];
    for (let killed = true; killed; [nth, next] = [next, nth + next]) {
      const before = (await writtenIds()).length;
      killed = await executeKilled(env, argv(nth), CALLS[engine], nth);
      await othersEnded(db, engine);
      const ids = await writtenIds();
      const records = db.selectFrom('audit_records').select(namedBy).where('action', '=', action);
      const named = (await records.execute()).map((record) => String(record[namedBy as 'record_id']));
      t.strictSame(named.sort(), ids, `${action}, killed at call ${nth}`);
      outcomes.add(ids.length - before);
    }
    const all = action === 'change.report' ? CHANGES : 1;
    t.ok(outcomes.has(0) && outcomes.has(all), `${action}: ${[...outcomes].join(', ')} written`);
  }
  const differences = await differencesOf((on) => verifyAudit(db, on));
  t.strictSame(differences, [], 'the chain is intact');
});
