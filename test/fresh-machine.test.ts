/** The first run of the tests on a machine passes. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { unpackedBrowser } from './support/browser.ts';
import { keptFolder, TAP_FOLDER } from './support/kept.ts';

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

t.test(
  'a kept folder whose creation failed is created by the next caller, and then used again',
  async (t) => {
    const within = t.testdir();
    const failing = (folder: string): void => {
      mkdirSync(folder);
      throw new Error('the disk is full');
    };
    await t.rejects(keptFolder('whole', failing, within), { message: 'the disk is full' });
    t.strictSame(readdirSync(within), []);
    const folder = await keptFolder('whole', (folder) => void mkdirSync(folder), within);
    t.equal(await keptFolder('whole', failing, within), folder);
  },
);

t.test('the browser is in the project', async (t) => {
  t.ok((await unpackedBrowser()).startsWith(TAP_FOLDER));
});
