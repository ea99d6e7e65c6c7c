import type { Db } from '../../src/database/tables.ts';
import { setTimeZone } from '../../src/database/time-zone.ts';
import { transact } from '../../src/database/transaction.ts';
import { dismissEvent } from '../../src/inbox/events.ts';
import { CHANGE_BYTES_MAX } from '../../src/inbox/named-in-event.ts';
import { unappliedChanges, withoutAmounts } from '../../src/inbox/unapplied.ts';
import { deductionOf, deliver, eventOf } from '../api/deliver.ts';
import { deduction } from '../contract/samples.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deduct, hireMany, LATELY, readyEmployer } from '../support/payroll.ts';

const LATER = '2026-07-09T00:00:00Z';
/** Breaks the contract without hiding a change. */
const BROKEN = { taxability: 'untaxed' };

const messages = async (db: Db, employeeId = 'emp-1') =>
  ((await unappliedChanges(db)).get(employeeId) ?? []).map(({ message }) => message);

onEitherEngine('a quarantined amount counts until a later event applies or it is dismissed', async (t) => {
  const db = await readyEmployer(t);
  await deduct(db, 'evt-3', { member_contribution: '175.00', ...BROKEN }, LATER);
  const [change] = (await unappliedChanges(db, 'emp-1')).get('emp-1') ?? [];
  t.strictSame(change, {
    event_id: 'evt-3',
    received_at: LATELY,
    ...{ employee_id: 'emp-1', deduction_id: 'ded-1', line_of_coverage: 'medical' },
    ...{ member_contribution: '175.00', employer_contribution: '350' },
    ...{ current_member_contribution: '150.00', current_employer_contribution: '350' },
    message: 'A newer amount for medical arrived on July 10 and is not applied: 150.00 → 175.00',
  });
  t.match(withoutAmounts(change as NonNullable<typeof change>), {
    ...{ member_contribution: null, employer_contribution: null },
    ...{ current_member_contribution: null, current_employer_contribution: null },
    message: /arrived on July 10 and is not applied$/,
  });
  t.equal((await unappliedChanges(db, 'emp-2')).size, 0);
  setTimeZone(db, 'Pacific/Pago_Pago');
  t.match(await messages(db), [/arrived on July 9/], 'the day of receipt is one of TIME_ZONE');
  setTimeZone(db, 'UTC');
  await deduct(db, 'evt-4', { member_contribution: '1.00', ...BROKEN }, '2025-01-01T00:00:00Z');
  t.equal((await messages(db)).length, 1, 'one that is older than the applied version changes nothing');
  await deduct(db, 'evt-same', { member_contribution: '160.00' }, LATER);
  t.strictSame(
    await messages(db),
    ['A newer amount for medical arrived on July 10 and is not applied: 160.00 → 175.00'],
    'an event with the time of the applied version would be applied later, so it is newer',
  );
  await deduct(db, 'evt-5', { member_contribution: '175.00' }, '2026-07-09T00:00:01Z');
  t.strictSame(await messages(db), [], 'the provider sent a correct event');
  await deduct(db, 'evt-6', { member_contribution: '180.00', ...BROKEN }, '2026-07-10T00:00:00Z');
  t.equal((await messages(db)).length, 1);
  await transact(db, (trx) => dismissEvent(trx, 'evt-6', 'a test', acting(LATELY)));
  t.strictSame(await messages(db), []);
});

const UNKNOWN = 'with an unknown pay frequency';
/** Fields of a quarantined event of emp-1 by what they are, and after the arrow the amount or change that is shown, if any. */
const BODIES: Record<string, object> = {
  'an amount that is a JSON number → amount: 150.00 → 486.90': { member_contribution: 486.9 },
  'an employer amount → amount: employer 350.00 → 400.00': { employer_contribution: 400 },
  'both amounts → amount: 150.00 → 1,205.27, employer 350.00 → 0.00': {
    ...{ member_contribution: '1205.27', employer_contribution: '0', ...BROKEN },
  },
  'the same amounts → change': { effective_end: 'soon' },
  'another period → amount: 150.00 monthly → 150.00 biweekly, employer 350.00 monthly → 350.00 biweekly': {
    ...{ period: 'biweekly', employer_contribution: '350.000', ...BROKEN },
  },
  [`an unknown period → amount: 150.00 monthly → 1.00 ${UNKNOWN}, employer 350.00 monthly → 350.00 ${UNKNOWN}`]:
    { ...{ period: 'daily', member_contribution: '1' } },
  'a line of coverage in capitals → amount: 150.00 → 1.00': {
    ...{ line_of_coverage: ' MEDICAL ', member_contribution: '1' },
  },
  'no line of coverage → amount: 150.00 → 1.00': { line_of_coverage: null, member_contribution: '1' },
  'another id → amount: 150.00 → 1.00': { id: 'ded-9', member_contribution: '1', ...BROKEN },
  'no id → amount: 150.00 → 1.00': { id: undefined, member_contribution: '1' },
  'an amount that is no plain decimal → change': { member_contribution: '<b>1</b>' },
  'an amount with a sign of a currency → change': { member_contribution: '$486.91' },
  'an amount with an exponent → change': { member_contribution: 1e30 },
  'more digits than a JSON number has → change': { member_contribution: 0.1234567890123456 },
  'an amount that is a list → change': { member_contribution: ['486.91'] },
  'an unknown line of coverage': { id: 'ded-9', line_of_coverage: '<script>' },
  'an unknown employee': { employee_id: '123-45-6789', ...BROKEN },
  'an employee that is an object': { employee_id: { id: 'emp-1' } },
  'a large body': { note: 'x'.repeat(CHANGE_BYTES_MAX), member_contribution: '1', ...BROKEN },
};

onEitherEngine('of a quarantined event only plain decimals and known values are shown', async (t) => {
  const db = await readyEmployer(t);
  for (const [name, fields] of Object.entries(BODIES)) {
    const [, shown] = /→ (.*)$/.exec(name) ?? [];
    await deduct(db, name, fields, LATER);
    const all = [...(await unappliedChanges(db)).values()].flat();
    const short = all.map(({ message }) =>
      message.replace(' for medical arrived on July 10 and is not applied', ''),
    );
    t.strictSame(short, shown === undefined ? [] : [`A newer ${shown}`], name);
    await transact(db, (trx) => dismissEvent(trx, name, 'a test', acting(LATELY)));
  }
  await deliver(
    db,
    [
      { eventId: 'evt-text', body: Buffer.from('no JSON') },
      { eventId: 'evt-null', body: Buffer.from('null') },
      { eventId: 'evt-list', body: Buffer.from('{"data":[[]]}') },
      eventOf('evt-number', 'employee.deduction-updated', { ...deduction, id: 7, employee_id: 7 }),
      { eventId: 'evt-frame', body: Buffer.from(JSON.stringify({ created_at: 'soon', data: deduction })) },
    ],
    LATELY,
  );
  t.strictSame(await messages(db), ['A newer change for medical arrived on July 10 and is not applied']);
});

onEitherEngine('an amount without a deduction is shown for its line of coverage', async (t) => {
  const db = await readyEmployer(t);
  await deduct(db, 'evt-3', { id: 'ded-new', line_of_coverage: 'dependent_care_fsa', ...BROKEN }, LATER);
  t.strictSame(await messages(db), [
    'An amount for dependent care fsa arrived on July 10 and is not applied: 150.00, employer 350.00',
  ]);
});

onEitherEngine('changes are looked for in the newest 1,000 quarantined events', async (t) => {
  const db = await readyEmployer(t);
  const employees = await hireMany(db, 1_001);
  const events = employees.map((employee_id) =>
    deductionOf(`evt-${employee_id}-wrong`, { id: `ded-${employee_id}`, employee_id, ...BROKEN }, LATER),
  );
  await deliver(db, events, LATELY);
  const changes = await unappliedChanges(db);
  t.equal(changes.size, 1_000);
  t.notOk(changes.has(employees[0] as string), 'the oldest one');
});
