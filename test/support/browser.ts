/** A real browser, installed with the packages. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Browser, chromium as driver } from 'playwright-core';
import { keptFolder } from './kept.ts';

const MANIFEST = new URL('../../node_modules/@sparticuz/chromium/package.json', import.meta.url);
/** The browser's sandbox needs privileges that containers rarely grant. It opens only our own pages. */
const ARGUMENTS = ['--no-sandbox', '--disable-background-networking', '--disable-gpu'];
/** The package always unpacks into the temporary folder of its process. */
const UNPACK = `import chromium from '@sparticuz/chromium'; await chromium.executablePath();`;

/** The machine's fonts and the package's. A machine may have none, and then the browser shows no text. */
const FONTS = `<?xml version="1.0"?>
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir prefix="relative">fonts</dir>
</fontconfig>
`;

/** Without memory for tiles, the browser lays out and paints pages as always, but computes no pixels. */
export const WITHOUT_PIXELS = '--force-gpu-mem-available-mb=1';

/** Launches the browser, with more arguments than usual. */
export async function launchBrowser(...more: string[]): Promise<Browser> {
  const executablePath = await unpackedBrowser();
  const env = { ...process.env, FONTCONFIG_FILE: join(dirname(executablePath), 'fonts.conf') };
  return driver.launch({ executablePath, env, args: [...ARGUMENTS, ...more], headless: true });
}

/** Returns the path of the browser. Unpacks it, 209 MB, if no earlier run has. */
export async function unpackedBrowser(): Promise<string> {
  const { version } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { version: string };
  const folder = await keptFolder(`browser-${version}`, (folder) => {
    mkdirSync(folder);
    const { NODE_OPTIONS: _, ...env } = process.env;
    execFileSync(process.execPath, ['--input-type=module', '--eval', UNPACK], {
      cwd: import.meta.dirname,
      env: { ...env, TMPDIR: folder },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    writeFileSync(join(folder, 'fonts.conf'), FONTS);
  });
  return join(folder, 'chromium');
}
