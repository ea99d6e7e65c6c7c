/**
 * Makes processes start quickly: their modules are compiled already, and each package of hundreds of modules is one file.
 * Loading these packages takes longer than all the rest of a command.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { keptFolder, TAP_FOLDER } from './kept.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const PACKAGES = ['kysely', 'typebox'];
/** With all entries of a package that anything imports, because the entries share state. */
const ENTRIES = [
  'kysely',
  'typebox',
  ...['compile', 'error', 'format', 'schema', 'system', 'value'].map((entry) => `typebox/${entry}`),
];

/** Makes imports of the entries load the files next to it. */
const HOOK = `import { registerHooks } from 'node:module';
const files = new Map(${JSON.stringify(ENTRIES)}.map((entry) => [entry, new URL(entry + '.js', import.meta.url).href]));
registerHooks({
  resolve(specifier, context, next) {
    const url = files.get(specifier);
    return url === undefined ? next(specifier, context) : { url, format: 'module', shortCircuit: true };
  },
});
`;

const FOLDER = ['packages', ...PACKAGES.map((name) => `${name}-${versionOf(name)}`)].join('-');
const HOOK_FILE = join(TAP_FOLDER, FOLDER, 'hook.js');

/** Bundles each package, if no earlier run has. */
export async function bundlePackages(): Promise<void> {
  await keptFolder(FOLDER, async (folder) => {
    const { build } = await import('esbuild');
    await build({
      entryPoints: Object.fromEntries(ENTRIES.map((entry) => [entry, entry])),
      ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', outdir: folder },
      ...{ absWorkingDir: PROJECT, logLevel: 'error' },
    });
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
    writeFileSync(join(folder, 'hook.js'), HOOK);
  });
}

/** Makes this process load the bundled packages. Without tap's preparation there may be none. */
export async function useBundles(): Promise<void> {
  if (existsSync(HOOK_FILE)) await import(HOOK_FILE);
}

/** The variables with which a test starts the executable. They replace the options that tap adds, which load tap. */
export function loading(): { NODE_COMPILE_CACHE?: string; NODE_OPTIONS: string } {
  const { NODE_COMPILE_CACHE } = process.env;
  return {
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
    NODE_OPTIONS: existsSync(HOOK_FILE) ? `--import=${HOOK_FILE}` : '',
  };
}

function versionOf(name: string): string {
  const manifest = readFileSync(join(PROJECT, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
