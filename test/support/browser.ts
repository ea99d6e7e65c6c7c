/** A real browser, installed with the packages. */
import chromium from '@sparticuz/chromium';
import { type Browser, chromium as driver } from 'playwright-core';

/** The browser's sandbox needs privileges that containers rarely grant. It opens only our own pages. */
const ARGUMENTS = ['--no-sandbox', '--disable-background-networking', '--disable-gpu'];

export async function launchBrowser(): Promise<Browser> {
  return driver.launch({ executablePath: await chromium.executablePath(), args: ARGUMENTS, headless: true });
}
