import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { viewEvents, viewWholeEvent } from '../../src/inbox/event-views.ts';
import { dismissEvent, getEvent, type WholeEvent } from '../../src/inbox/events.ts';
import { deductionOf, deliver, eventOf, quarantine, receive } from '../api/deliver.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { LATELY, readyEmployer } from '../support/payroll.ts';

const viewed = async (db: Db, eventId: string) =>
  viewWholeEvent(db, (await getEvent(db, eventId)) as WholeEvent, true);

/** A version of ded-1 with a start and an amount, sent on a day. */
const version = (eventId: string, sent: string, starts?: string, amount: unknown = '150.00') =>
  deductionOf(
    eventId,
    { id: 'ded-1', employee_id: 'emp-1', effective_start: starts, member_contribution: amount },
    `${sent}T00:00:00Z`,
  );

/** Events of one deduction in order of receipt, and the effect of each after the last one. */
const HISTORIES = {
  'a change for later leaves the days before it':
    'sent 03-01 from 03-01: replaced 03-01 to 07-31, sent 06-01 from 08-01: applied 08-01 to null',
  'a change with the same start replaces every day':
    'sent 03-01 from 03-01: replaced null, sent 06-01 from 03-01: applied 03-01 to null',
  'an older event that arrives late has no effect':
    'sent 06-01 from 03-01: applied 03-01 to null, sent 03-01 from 04-01: late null',
  'an older event that arrives late takes the days before the newer one':
    'sent 06-01 from 08-01: applied 08-01 to null, sent 03-01 from 03-01: replaced 03-01 to 07-31',
  'a start that moves with another amount leaves the days until then':
    'sent 06-01 from 08-01: replaced 08-01 to 08-31, sent 06-20 from 09-01: applied 09-01 to null',
  'a start that is corrected before it arrives is in effect on no day':
    'sent 03-01 from 03-01: replaced 03-01 to 08-31, sent 06-01 from 08-01: replaced null, sent 06-20 from 09-01: applied 09-01 to null',
};

onEitherEngine('the days of an event depend on all events of its deduction', async (t) => {
  for (const [rule, text] of Object.entries(HISTORIES)) {
    const db = await readyEmployer(t);
    const events = [...text.matchAll(/sent (\S+) from (\S+): ([^,]+)/g)];
    const deliveries = events.map(([, sent, starts], index) =>
      version(`evt-h${index}`, `2026-${sent}`, `2026-${starts}`, index === 0 ? '100.00' : '150.00'),
    );
    await deliver(db, deliveries, LATELY);
    for (const [index, [, , , expected]] of events.entries()) {
      const { effect, in_effect } = await viewed(db, `evt-h${index}`);
      const days = in_effect === null ? 'null' : `${in_effect.from} to ${in_effect.until}`;
      t.equal(`${effect} ${days}`.replaceAll('2026-', ''), expected, `${rule}: event ${index + 1}`);
    }
  }
});

onEitherEngine('an event whose time was never set counts from its receipt, and says so', async (t) => {
  const db = await readyEmployer(t);
  await deliver(db, [version('evt-set', '2026-06-01', '2026-07-01', '150.00')], LATELY);
  await deliver(db, [version('evt-unset', '0001-01-01', '2026-07-01', '175.00')], LATELY);
  t.match(await viewed(db, 'evt-set'), { effect: 'replaced', flags: [] });
  t.match(await viewed(db, 'evt-unset'), { effect: 'applied', flags: ['time-ignored'] });
});

onEitherEngine('the next step of an event is the action that helps', async (t) => {
  const db = await readyEmployer(t);
  await deliver(
    db,
    [
      version('evt-good', '2026-07-01', '2026-07-01'),
      deductionOf('evt-never', {
        id: 'ded-7',
        employee_id: 'emp-1',
        effective_start: '2026-07-02',
        effective_end: '2026-07-01',
      }),
      version('evt-covered', '2026-06-01', '2026-07-05', 1),
      version('evt-partly', '2026-06-01', '2026-06-01', 1),
      version('evt-newer', '2026-07-03', '2026-07-03', 1),
      version('evt-tie', '2026-07-01', '2026-07-01', '2.00'),
      version('evt-ahead', '2027-01-01', '2027-01-01'),
      eventOf('evt-sync', 'employee-census.sync-request', { employer: 'acme' }),
      eventOf('evt-moon', 'moon.landed', {}),
    ],
    LATELY,
  );
  await quarantine(db, version('evt-failed', '2026-07-04'), LATELY);
  await receive(db, [version('evt-conflict', '2026-07-01'), version('evt-waits', '2026-07-05')], LATELY);
  await receive(db, [version('evt-conflict', '2026-07-02')], LATELY);
  const steps = async (ids: readonly string[]) =>
    Object.fromEntries(await Promise.all(ids.map(async (id) => [id, (await viewed(db, id)).next_step])));
  const expected = {
    ...{ 'evt-good': 'none', 'evt-never': 'none', 'evt-moon': 'none', 'evt-waits': 'wait' },
    ...{ 'evt-covered': 'correct', 'evt-partly': 'correct', 'evt-newer': 'correct', 'evt-sync': 'correct' },
    ...{ 'evt-tie': 'compare', 'evt-conflict': 'compare', 'evt-ahead': 'correct', 'evt-failed': 'reprocess' },
  };
  t.strictSame(await steps(Object.keys(expected)), expected);
  t.equal((await viewed(db, 'evt-never')).effect, 'no_effect');
  await deliver(db, [version('evt-now', '2027-02-01', '2026-07-05')], LATELY);
  t.strictSame(
    await steps(['evt-covered', 'evt-newer', 'evt-partly']),
    { 'evt-covered': 'dismiss', 'evt-newer': 'correct', 'evt-partly': 'correct' },
    'only a newer event from the same day on replaces one',
  );
  await transact(db, (trx) => dismissEvent(trx, 'evt-newer', 'a test', acting(LATELY)));
  t.equal((await viewed(db, 'evt-newer')).next_step, 'none');
});

onEitherEngine('contents are null for a caller who may not see them', async (t) => {
  const db = await readyEmployer(t);
  await deliver(db, [version('evt-newer', '2026-07-12', undefined, 486.9)], LATELY);
  const stored = (await getEvent(db, 'evt-newer')) as WholeEvent;
  const { subject, unapplied } = await viewWholeEvent(db, stored, false);
  t.equal(subject, null);
  t.match(unapplied, { member_contribution: null, message: /is not applied$/ });
  const [seen] = await viewEvents(db, [stored.event], true);
  t.strictSame(seen?.subject, {
    ...{ employee_id: 'emp-1', employer_id: null, deduction_id: 'ded-1', line_of_coverage: 'medical' },
    ...{ member_contribution: '486.9', employer_contribution: '350', period: 'monthly' },
  });
});
