/** A real browser, installed with the packages. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium as driver } from 'playwright-core';
import { keptFolder } from './kept.ts';

const MANIFEST = new URL('../../node_modules/@sparticuz/chromium/package.json', import.meta.url);
/** The browser's sandbox needs privileges that containers rarely grant. It opens only our own pages. */
const ARGUMENTS = ['--no-sandbox', '--disable-background-networking', '--disable-gpu'];
/** The package always unpacks into the temporary folder of its process. */
const UNPACK = `import chromium from '@sparticuz/chromium'; await chromium.executablePath();`;

export async function launchBrowser(): Promise<Browser> {
  return driver.launch({ executablePath: await unpackedBrowser(), args: ARGUMENTS, headless: true });
}

/** Returns the path of the browser. Unpacks it, 209 MB, if no earlier run has. */
export async function unpackedBrowser(): Promise<string> {
  const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string };
  const folder = await keptFolder(`chromium-${version}`, (folder) => {
    mkdirSync(folder);
    const { NODE_OPTIONS: _, ...env } = process.env;
    execFileSync(process.execPath, ['--input-type=module', '--eval', UNPACK], {
      cwd: import.meta.dirname,
      env: { ...env, TMPDIR: folder },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  });
  return join(folder, 'chromium');
}
