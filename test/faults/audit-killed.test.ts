/** A command that is killed at any call leaves no change without its audit record, and no record without its change. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { verifyAudit } from '../../src/security/verify-audit.ts';
import { type Variables, withFixtures } from '../cli/harness.ts';
import { termination } from '../contract/samples.ts';
import { straceMissing } from '../support/strace.ts';

const skip = await straceMissing();
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
/** The calls that write to the database and that make writes durable. */
const CALLS = ['pwrite64', 'fsync', 'fdatasync'];
const CHANGES = 250;

t.setTimeout(900_000);

/** Runs a command, and kills the process at the nth of these calls. Returns whether it was killed. */
async function runKilled(env: Variables, argv: readonly string[], nth: number): Promise<boolean> {
  const inject = `inject=${CALLS.join(',')}:signal=SIGKILL:when=${nth}`;
  const traced = ['-f', '-o', '/dev/null', '-e', `trace=${CALLS.join(',')}`, '-e', inject];
  const child = spawn('strace', [...traced, process.execPath, MAIN, ...argv], {
    env: { PATH: process.env.PATH, ...env },
    stdio: 'ignore',
  });
  const [code] = await once(child, 'exit');
  return code !== 0;
}

t.test('a killed command leaves exactly the records of its changes', { skip }, async (t) => {
  const { env, db } = await withFixtures(t);
  const file = join(dirname(sqlitePath(env.DATABASE_URL as string)), 'changes.ndjson');
  const rows = Array.from({ length: CHANGES }, (_, row) => ({ ...termination, employee_id: `e-${row}` }));
  writeFileSync(file, rows.map((row) => JSON.stringify(row)).join('\n'));
  const partial = new Set<number>();
  let [nth, next] = [1, 2];
  for (let killed = true; killed; [nth, next] = [next, nth + next]) {
    const before = await db.selectFrom('outbox').select('seq').where('kind', '=', 'termination').execute();
    killed = await runKilled(env, ['change', 'termination', file, '--key-prefix', `n${nth}`], nth);
    const changes = await db
      .selectFrom('outbox')
      .select('request_id')
      .where('kind', '=', 'termination')
      .execute();
    const records = await db
      .selectFrom('audit_records')
      .select('resource_id')
      .where('action', '=', 'change.report')
      .execute();
    t.strictSame(
      records.map(({ resource_id }) => resource_id).sort(),
      changes.map(({ request_id }) => request_id).sort(),
      `killed at call ${nth}`,
    );
    const differences: string[] = [];
    const report = (_table: string, id: unknown, field: string) => void differences.push(`${id} ${field}`);
    await verifyAudit(db, { report, looked: () => {}, signal: new AbortController().signal });
    t.strictSame(differences, [], 'the chain is intact');
    partial.add(changes.length - before.length);
  }
  t.ok(partial.has(0) && partial.has(CHANGES), `changes accepted: ${[...partial].join(', ')}`);
});
