/** Loaded before each test file, and in its threads. */
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { basename, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { TAP_FOLDER } from './kept.ts';
import { memoryFolder } from './memory.ts';
import { failRunningTest } from './uncaught.ts';

// Node strips types without moving code, and reading the source maps of packages takes longer than loading tap.
process.setSourceMapsEnabled(false);

// Test files and executables share modules: each is compiled once. Environments that a test creates copy the variable.
const cache = join(TAP_FOLDER, 'compile-cache');
enableCompileCache(cache);
process.env.NODE_COMPILE_CACHE = cache;

// Databases are synced after each commit, which takes milliseconds on a disk. Fault tests need the disk.
const file = process.argv[1] ?? '';
if (isMainThread && file.endsWith('.test.ts')) {
  await failRunningTest();
  await compareLengths();
  await keepFoldersUntilTeardown();
}
if (isMainThread && file.endsWith('.test.ts') && !file.includes('/faults/')) {
  process.env.TEST_MEMORY = 'yes';
  const folder = memoryFolder('files');
  if (folder !== null) await useFixturesIn(folder);
}

/** Makes `t.match` refuse a list longer than its pattern. It would accept more entries, and every list for `[]`. */
async function compareLengths(): Promise<void> {
  const { Match } = await import('tcompare');
  const { test: matches } = Match.prototype;
  Match.prototype.test = function (this: InstanceType<typeof Match>) {
    const { object, expect } = this;
    const differ = Array.isArray(object) && Array.isArray(expect) && object.length !== expect.length;
    return differ ? false : matches.call(this);
  };
}

/**
 * Makes tap remove a test's folder after the test's teardowns, also if the test first asks for the folder: tap keeps the
 * order. A sidecar may write there until its teardown, and then the removal would fail.
 */
async function keepFoldersUntilTeardown(): Promise<void> {
  const { default: t } = await import('tap');
  t.beforeEach((t) => t.teardown(() => {}));
}

/** Links the fixtures into the project, because tap changes its folder if they are outside. */
async function useFixturesIn(folder: string): Promise<void> {
  const { default: t } = await import('tap');
  const link = join(TAP_FOLDER, 'fixtures', basename(folder));
  mkdirSync(join(TAP_FOLDER, 'fixtures'), { recursive: true });
  symlinkSync(folder, link);
  t.testdirName = join(link, basename(file));
  process.on('exit', () => {
    rmSync(folder, { recursive: true, force: true });
    rmSync(link, { force: true });
  });
}
