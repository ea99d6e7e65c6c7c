/**
 * Runs the tests on other releases of Node than the installed one:
 *
 *     npm run test:nodes                                       the oldest supported release, and the newest
 *     npm run test:nodes -- 26 test/contract/*.test.ts         one release, some files
 *
 * Each release is installed from npm into its own folder, which is removed afterward. It uses the dependencies of this
 * checkout. Tests start processes by `process.execPath` or PATH, which point to that release.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const TAP = join(ROOT, 'node_modules/tap/dist/esm/run.mjs');
/** The release at which `engines` in package.json begins, and the newest even one. `npm test` runs on 24. */
const RELEASES = ['22.19', '26'];

const [releases, files] = readArguments(process.argv.slice(2));
const failed = releases.filter((release) => !passes(release, files));
console.log(`\n${releases.length - failed.length} of ${releases.length} releases of Node passed`);
for (const release of failed) console.log(`failed: Node ${release}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** Numbers name releases. Everything after them goes to tap: files and options. */
function readArguments(given: readonly string[]): [readonly string[], readonly string[]] {
  const first = given.findIndex((word) => !/^\d+(\.\d+){0,2}$/.test(word));
  const named = first === -1 ? given : given.slice(0, first);
  return [named.length === 0 ? RELEASES : named, given.slice(named.length)];
}

/** Returns whether the tests pass on this release. Prints the output of `npm test`. */
function passes(release: string, files: readonly string[]): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'benefits-sidecar-node-'));
  try {
    const [node, env] = install(release, folder);
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    console.log(`\n== Node ${version}`);
    if (!`${version}.`.startsWith(`v${release}.`))
      throw new Error(`npm installed ${version}, not ${release}`);
    return spawnSync(node, [TAP, 'run', ...files], { cwd: ROOT, env, stdio: 'inherit' }).status === 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns the release's executable, and an environment in which PATH finds it first. */
function install(release: string, folder: string): [string, NodeJS.ProcessEnv] {
  // npm runs an install script only if a package.json approves it. This one downloads the build of the
  // platform.
  writeFileSync(join(folder, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }');
  const options = ['--no-save', '--no-audit', '--no-fund', '--silent'];
  execFileSync('npm', ['install', `node@${release}`, ...options], { cwd: folder, stdio: 'inherit' });
  const bin = join(folder, 'node_modules/.bin');
  return [join(bin, 'node'), { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` }];
}
