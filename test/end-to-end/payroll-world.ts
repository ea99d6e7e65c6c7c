/** A payroll world over HTTP: a census, reported changes, delivered deductions and runs, with a clock of its own. */
import type { Test } from 'tap';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import type { PayDate } from '../../src/payroll/settings/schedules.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { type Answer, start } from '../api/start.ts';
import { organization, person } from '../census/parts.ts';
import { encryptor, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json as respond, stubService } from '../outbox/stub-service.ts';
import { every } from '../payroll/calendars.ts';
import { dateOf, EMPLOYER } from '../support/payroll.ts';

export type Fields = Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: call() checks every response against the reference.
export type Json = any;

/** No census sync is completed in these worlds; each finalize accepts this failure by name. */
const NO_SYNC = 'census-completed';

/** 26 Fridays: January 9 to December 25. */
export const BIWEEKLY = {
  pay_frequency: 'biweekly',
  pay_dates: every(14, '2026-01-09', 26).map((date) => dateOf(date)),
};

type Listed = { pay_frequency: string; pay_dates: PayDate[]; year_in_fewer_checks?: boolean };

/** The fields of a run for a pay date of `dateOf`. */
export function periodOf(payDate: string, days = 14, lag = 5) {
  const { takes: _, ...date } = dateOf(payDate, days, lag);
  return date;
}

/** An employer's payroll with a database and a clock of its own. */
export async function begin(t: Test, now = '2026-05-25') {
  const clock = setClock(new Date(`${now}T09:00:00.000Z`));
  const { db, call } = await start(t, { now: clock, encryptor });
  const service = await stubService(t, (response) => respond(response, 200));
  const loop = sendLoop(t, db, service.url, clock, { senders: createChangeSenders(encryptor) });
  let events = 0;
  const ok = (answer: Answer): Json => {
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.json;
  };
  const runPath = (id: string) => `/v1/payroll-runs/${id}`;
  const world = {
    service,
    call,
    /** Moves the clock to 9:00 of a day. */
    on(day: string) {
      clock.advance(Date.parse(`${day}T09:00:00.000Z`) - clock().getTime());
    },
    /** Sets the schedules of 2026. */
    async schedule(...schedules: Listed[]) {
      ok(await world.trySchedule({ schedules }));
    },
    trySchedule: (body: object, employer = EMPLOYER, year = 2026) =>
      call({ method: 'PUT', url: `/v1/employers/${employer}/pay-schedules/${year}`, body }),
    async policy(options: Fields) {
      const body = { effective_from: '2020-01-01', ...options };
      ok(await call({ method: 'PUT', url: `/v1/employers/${EMPLOYER}/payroll-policy`, body }));
    },
    async opening(item: Fields) {
      const body = { items: [{ taxability: 'pre_tax', employer_amount: '0.00', ...item }] };
      ok(await call({ method: 'POST', url: `/v1/employers/${EMPLOYER}/opening-items`, body }));
    },
    items: async (): Promise<Json[]> => ok(await call({ url: `/v1/employers/${EMPLOYER}/open-items` })).data,
    /** Decides to take all items that are open. */
    async takeItems() {
      const decisions = (await world.items()).map((item) => {
        const { id: item_id, outstanding_member_amount, outstanding_employer_amount } = item;
        return { item_id, outstanding_member_amount, outstanding_employer_amount, action: 'take' };
      });
      const body = { decisions, reason: 'a test' };
      ok(await call({ method: 'POST', url: `/v1/employers/${EMPLOYER}/open-items/decisions`, body }));
    },
    /** Stages a census of biweekly employees, unless their fields state another frequency. */
    async census(people: Record<string, Fields>, employer = EMPLOYER) {
      const employees = Object.entries(people).map(([id, fields]) =>
        person(id, { pay_frequency: 'biweekly', ...fields }),
      );
      const url = `/v1/employers/${employer}/census`;
      ok(await call({ method: 'PUT', url, body: { organization, employees } }));
    },
    /** Reports an employment change and waits until the service has accepted it. */
    async report(kind: string, body: object) {
      ok(await call({ method: 'POST', url: `/v1/employee-changes/${kind}`, body }));
      await sendAll(loop);
    },
    /** Delivers a version of a deduction: biweekly, and without an employer amount. */
    async deduct(id: string, fields: Fields) {
      events += 1;
      const plain = { id, employee_id: 'emp-1', period: 'biweekly', employer_contribution: '0.00' };
      const at = clock().toISOString();
      await deliver(db, [deductionOf(`evt-${events}`, { ...plain, ...fields }, at)], at);
    },
    tryPut: (id: string, payDate: string, fields: Fields = {}) =>
      call({
        method: 'PUT',
        url: runPath(id),
        body: { employer_id: EMPLOYER, pay_frequency: 'biweekly', ...periodOf(payDate), ...fields },
      }),
    put: (id: string, payDate: string, fields: Fields = {}) => world.tryPut(id, payDate, fields).then(ok),
    /** Posts to a run, such as a void. */
    post: (path: string, body: object) => call({ method: 'POST', url: runPath(path), body }).then(ok),
    async override(id: string, employee: string, deduction: string, member_amount: string) {
      const url = `${runPath(id)}/overrides/${employee}/${deduction}`;
      ok(
        await call({
          method: 'PUT',
          url,
          body: { member_amount, employer_amount: '0.00', reason: 'a test' },
        }),
      );
    },
    /** Returns the failed and the warned checks of a run by id. */
    async found(id: string): Promise<Record<string, Json>> {
      const { checks } = await world.readiness(id);
      return Object.fromEntries(
        checks.filter(({ result }: Json) => result !== 'pass').map((check: Json) => [check.id, check]),
      );
    },
    run: (id: string) => call({ url: runPath(id) }).then(ok),
    lines: async (id: string): Promise<Json[]> => ok(await call({ url: `${runPath(id)}/lines` })).data,
    readiness: (id: string) => call({ url: `${runPath(id)}/readiness` }).then(ok),
    /** Creates a run and finalizes it, if only `NO_SYNC` and the checks in `accepting` fail. Returns its lines. */
    async paid(id: string, payDate: string, fields: Fields = {}, accepting: string[] = []): Promise<Json[]> {
      await world.put(id, payDate, fields);
      return world.finalize(id, accepting);
    },
    async finalize(id: string, accepting: string[] = []): Promise<Json[]> {
      const { checks, etag } = await world.readiness(id);
      const failed = checks.filter(({ result }: Json) => result === 'fail').map((check: Json) => check.id);
      t.strictSame(failed.toSorted(), [NO_SYNC, ...accepting].toSorted(), `failed checks of ${id}`);
      const headers = { 'if-match': `"${etag}"` };
      const body = { accept: failed, reason: 'a test' };
      ok(await call({ method: 'POST', url: `${runPath(id)}/finalize`, body, headers }));
      return world.lines(id);
    },
  };
  return world;
}

/** Returns each line as its deduction, its change or the adjusted run, and the employee amount. */
export const brief = (lines: Json[]) =>
  lines.map(
    (line) =>
      `${line.deduction_id} ${line.kind === 'regular' ? line.change : line.adjustment_for} ${line.member_amount}`,
  );
