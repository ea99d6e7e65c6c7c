/**
 * Takes a screenshot of each console page, light and dark, with the data of the demo: `npm run screenshots` writes them to
 * docs/images.
 */
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createOutput } from '../src/cli/output.ts';
import { playDemo } from '../src/dev/demo/commands.ts';
import { type Stage, setStage } from '../src/dev/demo/stage.ts';
import type { EventView } from '../src/inbox/event-views.ts';
import type { VersionView } from '../src/ledger/deduction-views.ts';
import type { PayrollRunSummary } from '../src/payroll/lifecycle/run-view.ts';
import type { SchedulesByYear } from '../src/payroll/settings/schedules.ts';
import { launchBrowser } from '../test/support/browser.ts';

const FOLDER = fileURLToPath(new URL('../docs/images/', import.meta.url));
/** A screenshot shows one screen, not the whole length of a page. */
const VIEW = { width: 1200, height: 1000 };
const OPEN_RUN = 'next';
const SCHEMES = ['light', 'dark'] as const;

/** Creates what the demo lacks: an open run and a reported change. Returns the change's id. */
async function addToDemo({ api, censuses, sidecar, token }: Stage, runs: readonly Run[]): Promise<string> {
  const candidates: NextRun[] = [];
  for (const { employer_id, pay_frequency } of runs) {
    const { years } = await api.get<SchedulesByYear>(
      `/v1/employers/${encodeURIComponent(employer_id)}/pay-schedules`,
    );
    const dates = years
      .flatMap((year) => year.schedules)
      .filter((schedule) => schedule.pay_frequency === pay_frequency)
      .flatMap(({ pay_dates }) => pay_dates);
    const paid = runs.filter((run) => run.employer_id === employer_id).map(({ pay_date }) => pay_date);
    const next = dates.findLast(({ pay_date }) => !paid.includes(pay_date));
    if (next === undefined) continue;
    const { takes: _, ...period } = next;
    candidates.push({ employer_id, pay_frequency, ...period });
  }
  // The latest pay date follows the events of the demo, so its run has lines.
  const [run] = candidates.toSorted((a, b) => b.pay_date.localeCompare(a.pay_date));
  if (run === undefined) throw new Error('no employer has another pay date');
  const policy = { effective_from: '2020-01-01', open_items: 'include' };
  await api.send('PUT', `/v1/employers/${encodeURIComponent(run.employer_id)}/payroll-policy`, policy);
  await api.send('PUT', `/v1/payroll-runs/${OPEN_RUN}`, run);
  const employee_id = censuses.get(run.employer_id)?.employees.at(-1)?.employee_id;
  const answer = await fetch(`${sidecar.api}/v1/employee-changes/termination`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ employee_id, termination_date: run.period_end }),
  });
  if (answer.status !== 202) throw new Error(`the change returned ${answer.status}`);
  return ((await answer.json()) as { id: string }).id;
}
type Run = PayrollRunSummary;
type NextRun = Pick<Run, 'employer_id' | 'pay_frequency' | 'pay_date' | 'period_start' | 'period_end'>;

/** Returns the pages by screenshot name. */
async function pagesOf(stage: Stage): Promise<Record<string, string>> {
  const { api, censuses } = stage;
  const [employer = ''] = [...censuses.keys()].map(encodeURIComponent);
  const versions = await api.list<VersionView>('/v1/deduction-versions');
  const events = await api.list<EventView>('/v1/events', { state: 'applied' });
  const runs = await api.list<Run>('/v1/payroll-runs', { employer_id: employer });
  const [last] = runs;
  if (last === undefined) throw new Error('the demo has no run');
  const change = await addToDemo(stage, await api.list<Run>('/v1/payroll-runs'));
  const late = versions.find(({ late }) => late) ?? versions[0];
  const update = events.find((one) => one.event_type === 'employee.deduction-updated');
  const id = (text = '') => encodeURIComponent(text);
  return {
    home: '/',
    operations: '/operations',
    events: '/events',
    event: `/events/${id(update?.id)}`,
    ledger: '/ledger',
    deduction: `/deductions/${id(late?.deduction_id)}`,
    employee: `/employees/${id(late?.employee_id)}`,
    runs: '/runs',
    run: `/runs/${id(last.id)}`,
    'new-run': `/runs/new?like=${id(last.id)}`,
    finalize: `/runs/${OPEN_RUN}/finalize`,
    audit: `/runs/${id(last.id)}/audit`,
    taken: `/runs/${id(last.id)}/taken`,
    void: `/runs/${id(last.id)}/void`,
    settings: `/settings?employer_id=${employer}`,
    'pay-schedule': `/settings/pay-schedule?employer_id=${employer}`,
    'payroll-codes': `/settings/payroll-codes?employer_id=${employer}`,
    census: '/census',
    'census-of-employer': `/census/${employer}`,
    changes: '/changes',
    change: `/changes/${id(change)}`,
  };
}

const out = createOutput(process, process.env, () => {});
const stage = await setStage();
const browser = await launchBrowser();
try {
  if (!(await playDemo(out, stage, AbortSignal.timeout(120_000)))) throw new Error('the demo did not finish');
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
      if (answer?.status() !== 200) throw new Error(`${name} (${path}) returned ${answer?.status()}`);
      // Some parts of a page load later.
      await page.locator('[hx-trigger=load]').first().waitFor({ state: 'detached' });
      await page.screenshot({ path: `${FOLDER}${name}-${colorScheme}.png` });
      out.print(`docs/images/${name}-${colorScheme}.png`);
    }
    await context.close();
  }
} finally {
  await browser.close();
  await stage.clear();
}
