/** The package as users install it: built, packed by npm, and unpacked into a folder. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import type { Variables } from './settings.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
/** With one checker: each of several infers most types again, which takes twice the CPU time. */
const COMPILER = [join(PROJECT, 'node_modules/typescript/bin/tsc'), '--checkers', '1'];
const MANIFEST = JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8')) as { files: string[] };
/** The files that the build does not create: files in the manifest and files that npm adds. */
const AS_IT_IS = [
  'package.json',
  'README.md',
  'LICENSE',
  ...MANIFEST.files.filter((name) => name !== 'dist'),
];

/** Tap adds options to every Node process, with which the compiler fails. */
const AS_USERS_START_IT = ['-u', 'NODE_OPTIONS'];
/** The compiler is a Go program. It ends so soon that collecting garbage only costs time. */
const WITHOUT_COLLECTOR = 'GOGC=off';
export const run = (command: string, args: readonly string[]) =>
  promisify(execFile)('env', [...AS_USERS_START_IT, WITHOUT_COLLECTOR, command, ...args]);

/**
 * A project folder with the package installed; it shares the dependencies of this checkout. Built separately from `dist`,
 * which another run may be writing.
 */
export async function installPackage(t: Test): Promise<string> {
  // Its dependencies are found in a folder above.
  t.testdirName = join(PROJECT, '.tap/fixtures/package');
  const folder = t.testdir({ packed: {}, 'package.json': '{"name": "users-own", "type": "module"}' });
  // Writes openapi.json and the client's types, in this process because it has already loaded the routes.
  await import('../../tools/openapi.ts');
  for (const path of AS_IT_IS) cpSync(join(PROJECT, path), join(folder, 'packed', path), { recursive: true });
  await run(process.execPath, [
    ...COMPILER,
    '-p',
    join(PROJECT, 'tsconfig.build.json'),
    // Linting checks the types.
    '--noCheck',
    '--outDir',
    join(folder, 'packed/dist'),
  ]);
  const options = ['--ignore-scripts', '--silent', '--pack-destination', folder];
  await run('npm', ['pack', join(folder, 'packed'), ...options]);
  const [archive = ''] = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  const installed = join(folder, 'node_modules/benefits-sidecar');
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', join(folder, archive), '-C', installed, '--strip-components=1']);
  return folder;
}

/** Returns the compiler errors of the files in the folder, with the strictest user settings. */
export async function compile(folder: string, files: readonly string[]): Promise<string> {
  const settings = {
    compilerOptions: {
      ...{ target: 'es2024', lib: ['es2024'], types: ['node'], module: 'nodenext', noEmit: true },
      ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
      ...{ allowImportingTsExtensions: true, erasableSyntaxOnly: true, skipLibCheck: true },
    },
    files,
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
  return run(process.execPath, [...COMPILER, '-p', folder]).then(
    () => '',
    (failed: { stdout: string }) => failed.stdout,
  );
}

/** Runs Node in the folder with only these variables, and the compile cache. */
export function node(folder: string, args: readonly string[], variables: Variables = {}) {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, ...variables };
  const child = spawn('env', [...AS_USERS_START_IT, process.execPath, ...args], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (part: string) => {
      said += part;
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  return { ended, said: () => said, end: (signal: NodeJS.Signals) => void child.kill(signal) };
}
