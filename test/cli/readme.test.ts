/** Executes the payroll run in the README, command by command. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { transact } from '../../src/database/transaction.ts';
import { FIXTURES, here, jsonOf, withFixtures } from './harness.ts';
import { filesOf } from './payroll-stage.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Returns the words of a command as a shell splits them. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare = '']) => quoted ?? bare);

t.test('the payroll run in the README ends finalized and prints the documented output', async (t) => {
  const now = new Date().toISOString();
  const { env, db } = await withFixtures(t, now);
  const run = (words: string[]) => here(t, env, words);
  await run(['census', 'stage', `${FIXTURES}census/json/maple-bakery.json`, '--employer', 'maple-bakery']);
  // Step 5's upload: the service has processed the census.
  const completed = { state: 'completed', completed_at: now, upload_started_at: now } as const;
  await transact(db, (trx) => trx.updateTable('census_syncs').set(completed).execute());

  const schedule = /pay-schedule -d '([^']*)'/.exec(read('docs/payroll-runs.md'))?.[1] ?? '';
  const policy = /payroll-policy -d '([^']*)'/.exec(read('docs/payroll-runs.md'))?.[1] ?? '';
  const file = filesOf(t);
  const files: Record<string, string> = {
    'pay-dates.json': file('pay-dates.json', schedule),
    'policy.json': file('policy.json', policy),
    'taken.csv': file('taken.csv', 'employee_id,line_of_coverage,amount\nmaple-bakery-001,medical,171.00\n'),
  };
  const story = read('README.md').split('A complete payroll run')[1]?.split('### From JavaScript')[0] ?? '';
  const commands = story
    .replace(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.startsWith('    benefits-sidecar '))
    .map((line) => line.replace(/ #.*| > .*/, ''));
  const shown = /```console\n(.*?)```/s.exec(story)?.[1] ?? 'no output';
  let etag = '';
  for (const command of commands) {
    const [, ...words] = wordsOf(command.trim());
    const ran = await run(words.map((word) => files[word] ?? (word === 'ETAG' ? etag : word)));
    const isReadiness = words[1] === 'readiness';
    t.equal(ran.code, isReadiness ? 1 : 0, `${command}: ${ran.stderr}`);
    if (!isReadiness) continue;
    t.ok(ran.stdout.includes(shown), ran.stdout);
    t.strictSame([...ran.stdout.matchAll(/^FAIL {2}\S+/gm)].length, 1);
    etag = /^etag: (\S+)/m.exec(ran.stdout)?.[1] ?? '';
  }
  t.equal(jsonOf(await run(['run', 'show', 'mb-2026-07-31', '--json'])).state, 'finalized');
  t.ok(commands.length >= 8);
});
