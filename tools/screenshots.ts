/**
 * Takes a picture of each page of the console, in light and dark, of what the demo leaves behind: `npm run
 * screenshots` writes them to docs/images. Nobody else's data is in them: the demo makes its own.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { VersionOfDeduction } from '../src/api/routes/deductions.ts';
import type { EventSummary } from '../src/api/routes/events.ts';
import type { PayrollRunSummary } from '../src/api/run-schemas.ts';
import { type Stage, setStage } from '../src/cli/demo/stage.ts';
import { playDemo } from '../src/cli/demo.ts';
import { createOutput } from '../src/cli/output.ts';
import { launchBrowser } from '../test/support/browser.ts';

const FOLDER = fileURLToPath(new URL('../docs/images/', import.meta.url));
/** A picture shows what fits a screen, not a page's whole length. */
const VIEW = { width: 1200, height: 1000 };
const SCHEMES = ['light', 'dark'] as const;

/** The pages by the names of their pictures. */
async function pagesOf({ api, censuses }: Stage): Promise<Record<string, string>> {
  const [employer = ''] = [...censuses.keys()].map(encodeURIComponent);
  const versions = await api.list<VersionOfDeduction>('/v1/deduction-versions', 'after');
  const events = await api.list<EventSummary>('/v1/events?state=applied');
  const runs = await api.list<PayrollRunSummary>(`/v1/payroll-runs?employer_id=${employer}`);
  const told = versions.find((one) => one.late) ?? versions[0];
  const ofTold = events.find((one) => one.event_type === 'employee.deduction-updated');
  const id = (text = '') => encodeURIComponent(text);
  return {
    overview: '/',
    events: '/events',
    event: `/events/${id(ofTold?.event_id)}`,
    ledger: '/ledger',
    deduction: `/deductions/${id(told?.id)}`,
    employee: `/employees/${id(told?.employee_id)}`,
    runs: '/runs',
    run: `/runs/${id(runs[0]?.run_id)}`,
    'new-run': `/runs/new?like=${id(runs[0]?.run_id)}`,
    census: '/census',
    'census-of-employer': `/census/${employer}`,
    changes: '/changes',
  };
}

const out = createOutput(process, process.env, () => {});
const stage = await setStage();
const browser = await launchBrowser();
try {
  if (!(await playDemo(out, stage, AbortSignal.timeout(120_000))))
    throw new Error('the demo did not come out');
  mkdirSync(FOLDER, { recursive: true });
  const pages = await pagesOf(stage);
  for (const colorScheme of SCHEMES) {
    const context = await browser.newContext({ baseURL: stage.sidecar.api, colorScheme, viewport: VIEW });
    const page = await context.newPage();
    await page.goto('/sign-in');
    await page.screenshot({ path: `${FOLDER}sign-in-${colorScheme}.png` });
    await page.getByLabel('API token').fill(stage.token);
    await page.keyboard.press('Enter');
    await page.waitForURL('**/');
    for (const [name, path] of Object.entries(pages)) {
      const answer = await page.goto(path);
      if (answer?.status() !== 200) throw new Error(`${name} (${path}) was answered ${answer?.status()}`);
      await page.screenshot({ path: `${FOLDER}${name}-${colorScheme}.png` });
      out.print(`docs/images/${name}-${colorScheme}.png`);
    }
    await context.close();
  }
} finally {
  await browser.close();
  await stage.clear();
}
