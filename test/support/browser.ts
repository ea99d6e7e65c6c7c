/** A real browser, which came with the packages. */
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as driver } from 'playwright-core';

/** Its own sandbox needs rights that a container seldom gives; it sees nothing but pages of ours. */
const ARGUMENTS = ['--no-sandbox', '--disable-background-networking', '--disable-gpu'];

export async function launchBrowser(): Promise<Browser> {
  return driver.launch({ executablePath: await chromium.executablePath(), args: ARGUMENTS, headless: true });
}
