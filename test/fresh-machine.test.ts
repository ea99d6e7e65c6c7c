/** The first run of the tests on a machine passes, also as root in a folder that no other user can enter. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { launchBrowser, unpackedBrowser } from './support/browser.ts';
import { keptFolder, TAP_FOLDER } from './support/kept.ts';
import { startPostgres } from './support/postgres.ts';
import { installedPrograms, runnablePrograms, serverUser } from './support/postgres-programs.ts';
import { removeEndedRuns, shared } from './support/shared.ts';

t.test('a kept folder that several callers create at once is complete for each of them', async (t) => {
  const within = t.testdir();
  const begun = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const folders = begun.map(async ({ resolve }) => {
    const folder = await keptFolder(
      'whole',
      async (folder) => {
        mkdirSync(folder);
        writeFileSync(join(folder, 'first'), '');
        resolve();
        await Promise.all(begun.map(({ promise }) => promise));
        writeFileSync(join(folder, 'last'), '');
      },
      within,
    );
    resolve();
    return readdirSync(folder).sort();
  });
  t.strictSame(await Promise.all(folders), Array(3).fill(['first', 'last']));
  t.strictSame(readdirSync(within), ['whole'], 'nothing else remains');
});

t.test('a kept folder whose creation failed is created by the next caller', async (t) => {
  const within = t.testdir();
  const failing = (folder: string): void => {
    mkdirSync(folder);
    throw new Error('the disk is full');
  };
  await t.rejects(keptFolder('whole', failing, within), { message: 'the disk is full' });
  t.strictSame(readdirSync(within), []);
  const folder = await keptFolder('whole', (folder) => void mkdirSync(folder), within);
  t.equal(await keptFolder('whole', failing, within), folder);
});

t.test('the browser is in the project', async (t) => {
  t.ok((await unpackedBrowser()).startsWith(TAP_FOLDER));
});

t.test('the browser brings a font, so that a machine needs none', async (t) => {
  const browser = await launchBrowser();
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const style = `font-family: 'Open Sans', monospace`;
  await page.setContent(`<span style="${style}">iiii</span><p><span style="${style}">WWWW</span>`);
  const [narrow = 0, wide = 0] = await page
    .locator('span')
    .evaluateAll((spans) => spans.map((span) => (span as unknown as { offsetWidth: number }).offsetWidth));
  t.ok(narrow > 0 && wide > narrow, `${narrow} and ${wide} pixels`);
});

const skip = serverUser().uid === undefined ? 'PostgreSQL runs as the same user' : false;

/** Returns a copy of the programs in a folder that only root can enter. */
function unreachablePrograms(t: Test): string {
  const folder = realpathSync(t.testdir());
  execFileSync('cp', ['-R', installedPrograms(), folder]);
  chmodSync(folder, 0o700);
  return join(folder, 'native');
}

t.test('PostgreSQL runs in a checkout that its user cannot enter', { skip }, async (t) => {
  const [user, installed] = [serverUser(), unreachablePrograms(t)];
  const run = (programs: string) => spawnSync(join(programs, 'bin/postgres'), ['--version'], user);
  t.match(run(installed).error, { code: 'EACCES' });
  const programs = runnablePrograms(user, installed);
  t.teardown(() => rmSync(programs, { recursive: true }));
  t.equal(run(programs).status, 0);
});

t.test('a temporary folder that the user of PostgreSQL cannot enter is reported', { skip }, async (t) => {
  const installed = unreachablePrograms(t);
  const { TMPDIR } = process.env;
  t.teardown(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  process.env.TMPDIR = realpathSync(t.testdirName);
  t.throws(() => runnablePrograms(serverUser(), installed), /EACCES: set TMPDIR to a folder/);
});

t.test('a server that cannot start reports its cause', async (t) => {
  await t.rejects(startPostgres(['shared_buffers=none']), /invalid value for parameter "shared_buffers"/);
});

t.test('a shared resource that ends before it has started reports its cause to every file', async (t) => {
  const source = `import { spawn } from 'node:child_process';
    export const start = () => new Promise(() => spawn('/missing/initdb'));`;
  const module = pathToFileURL(join(t.testdir({ 'broken.ts': source }), 'broken.ts'));
  const folder = join(TAP_FOLDER, `run-${process.ppid}-broken`);
  t.teardown(() => rmSync(folder, { recursive: true }));
  const waiting = await Promise.allSettled([shared(module), shared(module)]);
  for (const { reason } of waiting as PromiseRejectedResult[])
    t.match(reason, { message: /^broken did not start: .*spawn \/missing\/initdb ENOENT/s });
});

t.test('a run uses no resource of an earlier run, whose process id it may have', async (t) => {
  const ended = spawnSync('true').pid;
  const within = t.testdir({
    [`run-${process.ppid}-postgres`]: { address: 'an earlier run with this id' },
    [`run-${ended}-postgres`]: {},
    [`run-${process.pid}-postgres`]: {},
  });
  removeEndedRuns(within);
  t.strictSame(readdirSync(within), [`run-${process.pid}-postgres`]);
});
