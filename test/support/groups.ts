/**
 * Writes files that each import several test files, and prints their paths. A process of its own for each test file
 * would load the same modules two hundred times, which takes longer than most tests.
 *
 *     tap run $(node test/support/groups.ts)                  all that `npm test` runs
 *     tap run $(node test/support/groups.ts onEitherEngine)   the files with this text
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TAP_FOLDER } from './kept.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Many, because each process loads tap and most of the code, but the last ones must end at about the same time. */
const FILES_PER_GROUP = 16;
/** The tests that take longest or wait for timers. They begin first, because one that begins last runs alone at the end. */
const FIRST = ['test/console/', 'test/end-to-end/', 'test/cli/', 'test/runtime/', 'test/security/'];
/** A file that moves the tests of its process to PostgreSQL. */
const ON_POSTGRES = /use(Own)?Postgres\(/;

const [text = ''] = process.argv.slice(2);
const files = globSync('test/**/*.test.ts', { cwd: ROOT, exclude: ['test/{faults,product}/**'] })
  .map((file) => ({ file, source: readFileSync(join(ROOT, file), 'utf8') }))
  .filter(({ source }) => source.includes(text))
  .sort((one, other) => orderOf(one.file) - orderOf(other.file) || (one.file < other.file ? -1 : 1));
const isOnPostgres = ({ source }: { source: string }) => ON_POSTGRES.test(source);
const namesOf = (wanted: typeof files) => wanted.map(({ file }) => file);
const together = namesOf(files.filter((file) => !isOnPostgres(file)));
// The files on PostgreSQL share a server, and begin first because they wait for it most.
const groups = [namesOf(files.filter(isOnPostgres))];
for (let from = 0; from < together.length; from += FILES_PER_GROUP)
  groups.push(together.slice(from, from + FILES_PER_GROUP));

const folder = join(TAP_FOLDER, 'groups');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [index, [first, ...others]] of groups.entries()) {
  if (first === undefined) continue;
  // Tap runs files in the order of their names.
  const name = `${String(index).padStart(2, '0')}-${first.replaceAll('/', '-')}`;
  const imports = [first, ...others].map((file) => `t.comment('${file}');\nawait import('../../${file}');\n`);
  writeFileSync(join(folder, name), `import t from 'tap';\n${imports.join('')}`);
  console.log(relative(ROOT, join(folder, name)));
}

function orderOf(file: string): number {
  const index = FIRST.findIndex((start) => file.startsWith(start));
  return index === -1 ? FIRST.length : index;
}
