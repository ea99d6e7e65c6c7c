/** Loaded before each test file, and in its threads. */
import { rmSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { memoryFolder } from './memory.ts';

// Test files and executables share modules: each is compiled once. Environments that a test creates copy the variable.
const cache = fileURLToPath(new URL('../../.tap/compile-cache', import.meta.url));
enableCompileCache(cache);
process.env.NODE_COMPILE_CACHE = cache;

// Databases are synced after each commit, which takes milliseconds on a disk. Fault tests need the disk.
const file = process.argv[1] ?? '';
if (isMainThread && !file.includes('/faults/')) {
  process.env.TEST_MEMORY = 'yes';
  const folder = memoryFolder('files');
  if (folder !== null) {
    const { default: t } = await import('tap');
    t.testdirName = join(folder, basename(file));
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  }
}
