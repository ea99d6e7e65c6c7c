import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { recordUpload } from '../../src/census/staged.ts';
import { readDataKeys } from '../../src/config.ts';
import { transact } from '../../src/database/transaction.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { rejectedSync } from '../census/parts.ts';
import { readsOf } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { FIXTURES, here, jsonOf, withDatabase } from './harness.ts';

const JSON_FILE = join(FIXTURES, 'census/json/maple-bakery.json');
const CSV_FILE = join(FIXTURES, 'census/csv/maple-bakery.csv');
const CANARY = 'Canary-Nowhere';

for (const file of [JSON_FILE, CSV_FILE]) {
  onEitherEngine(`a valid census passes without any configuration: ${file.slice(-4)}`, async (t) => {
    t.match(await here(t, {}, ['census', 'validate', file]), { code: 0, stdout: 'Valid: 5 employees\n' });
    const none = { problem_count: 0, problems: [], warning_count: 0, warnings: [] };
    const report = { valid: true, employees: 5, ...none };
    t.same(jsonOf(await here(t, {}, ['census', 'validate', file, '--json'])), report);
  });
}

onEitherEngine('a census with warnings passes, and its fields are named without values', async (t) => {
  const folder = t.testdir();
  const path = join(folder, 'hours.json');
  writeFileSync(
    path,
    readFileSync(JSON_FILE, 'utf8').replace(/"hours_worked": ?"[^"]*"/, '"hours_worked":"2080"'),
  );
  const { code, stdout, stderr } = await here(t, {}, ['census', 'validate', path]);
  t.equal(code, 0);
  t.equal(stdout, 'employees[0].hours_worked: is above the 168 hours of a week\nValid: 5 employees\n');
  t.match(stderr, /^Check: 1 warning: /);
});

onEitherEngine('a CSV without its organization file is rejected, and the file is named', async (t) => {
  const path = join(t.testdir(), 'alone.csv');
  copyFileSync(CSV_FILE, path);
  t.match(await here(t, {}, ['census', 'validate', path]), {
    code: 1,
    stdout: new RegExp(
      `organization: is required in ${path.replace('.csv', '.organization.json')}, or in the file format`,
    ),
  });
});

onEitherEngine('a staged census is shown without personal data', async (t) => {
  const { env } = await withDatabase(t);
  const employer = ['--employer', 'maple-bakery'];
  const staged = await here(t, env, ['census', 'stage', CSV_FILE, ...employer]);
  t.match(staged, { code: 0, stdout: /Staged 5 employees/ });
  const sync = jsonOf(await here(t, env, ['census', 'sync', ...employer, '--json']));
  t.match(sync, { employer_id: 'maple-bakery', state: 'requested', event_id: null, overdue: false });
  t.notHas(sync, 'request_id');

  const shown = await here(t, env, ['census', 'show', ...employer, '--json']);
  t.match(jsonOf(shown), {
    census: { employer_id: 'maple-bakery', employees: 5, fresh: true },
    syncs: [{ id: sync.id }],
  });
  const people = await here(t, env, ['census', 'show', ...employer]);
  t.match(people.stdout, /employees +5\nstaged_at .+\nlast_upload +none\nfresh +yes/);
  for (const { first_name, last_name, email } of JSON.parse(readFileSync(JSON_FILE, 'utf8')).employees) {
    for (const value of [first_name, last_name, email]) t.notMatch(shown.stdout + people.stdout, value);
  }
});

onEitherEngine('census show --response shows what failed the latest upload, and is recorded', async (t) => {
  const { env, db } = await withDatabase(t);
  const employer = ['--employer', 'acme'];
  const show = (...more: string[]) => here(t, env, ['census', 'show', ...employer, ...more]);
  const answer = `{"error":"${CANARY}: 987-65-4321"}\u001b`;
  const sync_id = await rejectedSync(db, createEncryptor(readDataKeys(env)), 'acme', answer);
  const reads = () => readsOf(db);

  const people = await show();
  t.match(people, { code: 0, stdout: /the service responded with 422/ });
  t.notMatch(people.stdout + (await show('--json')).stdout, CANARY);
  t.strictSame(await reads(), []);
  t.match(await show('--response'), { code: 0, stdout: `\n{"error":"${CANARY}: ***-**-4321"}\\u001b\n` });
  t.match(jsonOf(await show('--response', '--json')), {
    response: `{"error":"${CANARY}: ***-**-4321"}\u001b`,
  });
  const name = userInfo().username;
  const read = { action: 'census-sync.read', resource_id: sync_id, employer_id: 'acme', actor_name: name };
  t.match(await reads(), [read, read]);
  await here(t, env, ['census', 'dismiss', sync_id, '--reason', 'the employer left', '--yes']);
  const { stdout } = await show();
  t.match(stdout, /Reason before it was dismissed: /);
  t.match(stdout, /Dismissed: the employer left/);
});

onEitherEngine(
  'a census is compared by ids, and by fields only with --personal-data, which is recorded',
  async (t) => {
    const { env, db } = await withDatabase(t);
    const employer = ['--employer', 'maple-bakery'];
    const { id } = jsonOf(await here(t, env, ['census', 'stage', JSON_FILE, ...employer, '--json']));
    await transact(db, (trx) => recordUpload(trx, 'maple-bakery', id, '2026-07-01T00:00:00.000Z'));
    const changed = join(t.testdirName, 'changed.json');
    const json = readFileSync(JSON_FILE, 'utf8').replace(/"hours_worked": ?"[^"]*"/, '"hours_worked":"31"');
    writeFileSync(changed, json);
    const validate = (...more: string[]) =>
      here(t, env, ['census', 'validate', changed, ...employer, ...more]);
    t.match(await validate(), { code: 0, stdout: /: 0 added, 0 absent\nOnly IDs were compared/ });
    t.strictSame(await readsOf(db), []);
    const { code, stdout } = await validate('--personal-data');
    t.match(
      { code, stdout },
      { code: 0, stdout: /: 0 added, 1 changed, 0 absent, 4 unchanged\n {2}changed [^ ]+: hours_worked/ },
    );
    t.match(await readsOf(db), [{ action: 'census.read', resource_id: id, employer_id: 'maple-bakery' }]);
  },
);

onEitherEngine('a staged census that breaks the contract is refused with its problems', async (t) => {
  const { env } = await withDatabase(t);
  const path = join(t.testdirName, 'wrong.json');
  writeFileSync(path, '{"organization":{},"employees":[]}');
  t.match(await here(t, env, ['census', 'stage', path, '--employer', 'acme']), {
    code: 1,
    stdout: '',
    stderr: /The census has \d+ problems, so nothing was stored.*\n {2}organization/,
  });
  t.match(await here(t, env, ['census', 'stage', JSON_FILE, '--employer', 'acme', '--same-person', 'e']), {
    code: 2,
    stderr: /--reason: is required with same_person/,
  });
});

onEitherEngine('a sync of an employer that no source has is refused', async (t) => {
  const { env } = await withDatabase(t);
  const folder = join(t.testdirName, 'censuses');
  mkdirSync(folder);
  writeFileSync(join(folder, 'acme.csv'), '');
  const sync = (employer: string, more = {}) =>
    here(t, { ...env, ...more }, ['census', 'sync', '--employer', employer]);
  const refused = { code: 1, stdout: '', stderr: /typo: Nothing is known of this employer/ };
  t.match(await sync('typo'), refused);
  t.match(await sync('typo', { CENSUS_SOURCE: `dir:${folder}` }), {
    ...{ code: 1, stdout: '' },
    stderr: /typo: Nothing is known of this employer\. Check the ID, or add its census to the folder/,
  });
  t.equal((await sync('acme', { CENSUS_SOURCE: `dir:${folder}` })).code, 0);
  t.equal((await sync('other', { CENSUS_SOURCE: 'http://127.0.0.1:9/{employer_id}' })).code, 0);
  t.equal((await sync('acme')).code, 0, 'its earlier sync makes it known');
});

onEitherEngine('a command that reads, filters by or protects an employer names an unknown id', async (t) => {
  const { env } = await withDatabase(t);
  for (const command of [
    ...['census show', 'schedule show', 'policy show', 'codes show', 'run list', 'deductions list'],
    ...['audit list', 'approval show', 'approval require --reason audit'],
  ]) {
    const ran = await here(t, env, [...command.split(' '), '--employer', 'typo', '--json']);
    t.match(
      ran,
      { code: 1, stdout: '', stderr: /nothing is known of the employer typo|typo: Nothing is known of this/ },
      command,
    );
  }
  const validated = await here(t, env, ['census', 'validate', JSON_FILE, '--employer', 'typo']);
  t.match(validated, { code: 0, stdout: /no census of this employer has been uploaded/ });
});
