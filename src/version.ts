import { readFileSync } from 'node:fs';

const manifest = new URL('../package.json', import.meta.url);

/** The version of this package, from its package.json. */
export const VERSION: string = JSON.parse(readFileSync(manifest, 'utf8')).version;
