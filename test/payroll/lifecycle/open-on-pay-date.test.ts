import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { openOnPayDate, type Payroll } from '../../../src/payroll/lifecycle/open-on-pay-date.ts';
import { RUN_ID_PATTERN } from '../../../src/payroll/records/body.ts';
import { acting } from '../../support/audit.ts';
import { onEachEngine, onSqlite } from '../../support/engine.ts';
import {
  bodyOn,
  finalize,
  LATELY,
  put,
  readyEmployer,
  schedule,
  setSchedules,
  voided,
} from '../../support/payroll.ts';

const test = onSqlite.with(readyEmployer);

const DATE = '2026-07-17';

const payroll = (fields: Partial<Payroll> = {}): Payroll => ({
  employer_id: 'acme',
  pay_frequency: 'biweekly',
  pay_group: null,
  pay_date: DATE,
  ...fields,
});

/** Returns the outcome and the id, such as `created acme-biweekly-2026-07-17`. */
async function opened(db: Db, fields: Partial<Payroll> = {}): Promise<string> {
  const { outcome, stored } = await openOnPayDate(db, payroll(fields), acting(LATELY));
  return `${outcome} ${stored.run_id}`;
}

test('a run has the pay period of the schedule and the id of its payroll', async (t, db) => {
  t.equal(await opened(db), 'created acme-biweekly-2026-07-17');
  const { stored } = await openOnPayDate(db, payroll(), acting(LATELY));
  t.match(stored, { ...bodyOn(DATE), kind: 'regular', state: 'open' });
  t.equal(await opened(db), 'found acme-biweekly-2026-07-17');
});

test('an open or finalized run is found whatever its id, and a voided one is replaced', async (t, db) => {
  await put(db, 'mine', bodyOn(DATE));
  t.equal(await opened(db), 'found mine');
  await finalize(db, 'mine');
  t.equal(await opened(db), 'found mine');
  await voided(db, 'mine');
  t.equal(await opened(db), 'created acme-biweekly-2026-07-17');
  await finalize(db, 'acme-biweekly-2026-07-17');
  await voided(db, 'acme-biweekly-2026-07-17');
  t.equal(await opened(db), 'created acme-biweekly-2026-07-17-2');
});

test('an id that another payroll could have ends in a hash', async (t, db) => {
  const cases: [fields: Partial<Payroll>, id: RegExp][] = [
    [{ pay_group: 'north' }, /^acme-biweekly-north-2026-07-17$/],
    [{ pay_group: 'north/1' }, /^acme-biweekly-north-1-[0-9a-f]{8}-2026-07-17$/],
    [{ pay_group: 'biweekly' }, /^acme-biweekly-biweekly-2026-07-17$/],
    [{ employer_id: 'acme-biweekly' }, /^acme-biweekly-biweekly-[0-9a-f]{8}-2026-07-17$/],
    [{ pay_group: 'n'.repeat(120) }, /^acme-biweekly-n+-[0-9a-f]{8}-2026-07-17$/],
  ];
  for (const [{ employer_id = 'acme' }] of cases) {
    const groups = cases.filter(([fields]) => (fields.employer_id ?? 'acme') === employer_id);
    const schedules = groups.map(([{ pay_group = null }]) => schedule({ pay_group }));
    await setSchedules(db, schedules, employer_id);
  }
  for (const [fields, id] of cases) {
    const [outcome, runId = ''] = (await opened(db, fields)).split(' ');
    t.equal(outcome, 'created');
    t.match(runId, id);
    t.match(runId, new RegExp(RUN_ID_PATTERN));
  }
});

test('a date or frequency without a schedule is refused by name', async (t, db) => {
  const problemsOf = (fields: Partial<Payroll>) =>
    opened(db, fields).catch((error) => error.problems.map(({ path }: { path: string }) => path));
  t.strictSame(await problemsOf({ pay_date: '2026-07-18' }), ['pay_date']);
  t.strictSame(await problemsOf({ pay_frequency: 'weekly' }), ['pay_frequency']);
  t.strictSame(await problemsOf({ employer_id: 'nobody' }), ['pay_frequency']);
});

onEachEngine('callers at the same time open one run', async (t: Test) => {
  const db = await readyEmployer(t);
  const all = await Promise.all(Array.from({ length: 8 }, () => opened(db)));
  t.strictSame(all.toSorted(), [
    'created acme-biweekly-2026-07-17',
    ...Array.from({ length: 7 }, () => 'found acme-biweekly-2026-07-17'),
  ]);
  await t.rejects(
    put(db, 'another', bodyOn(DATE)),
    { message: /^The run .* is already open/ },
    'a pay date has one open run',
  );
});
