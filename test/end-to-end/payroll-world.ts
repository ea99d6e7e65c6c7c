/** An employer's payroll over HTTP, with a database and a clock of its own. */
import type { Test } from 'tap';
import { createChangeSenders } from '../../src/employment/bodies.ts';
import { byYear, type PayDate, type Schedule } from '../../src/payroll/settings/schedules.ts';
import { deductionOf, deliver, eventOf } from '../api/deliver.ts';
import { type Answer, start } from '../api/start.ts';
import { organization, person } from '../census/parts.ts';
import { encryptor, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json as respond, stubService } from '../outbox/stub-service.ts';
import { every } from '../payroll/calendars.ts';
import { dateOf, EMPLOYER } from '../support/payroll.ts';

type Fields = Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: call() checks every response against the reference.
export type Json = any;

/** No census sync is completed in these worlds; each finalize accepts this failure by name. */
const NO_SYNC = 'census-completed';
/** Options that differ from the employer's policy need a reason. */
export const stated = (options: Fields): Fields => ({ ...options, policy_reason: 'a test' });
export const INCLUDE = stated({ adjustments: 'include' });

/** 26 Fridays: January 9 to December 25. */
const FRIDAYS = every(14, '2026-01-09', 26).map((date) => dateOf(date));
export const BIWEEKLY = { pay_frequency: 'biweekly', pay_dates: FRIDAYS };

export async function begin(t: Test, now = '2026-05-25') {
  const clock = setClock(new Date(`${now}T09:00:00.000Z`));
  const running = await start(t, { now: clock, encryptor });
  const service = await stubService(t, (response) => respond(response, 200));
  const loop = sendLoop(t, running.db, service.url, clock, { senders: createChangeSenders(encryptor) });
  const { call } = running;
  let events = 0;
  const ok = (answer: Answer): Json => {
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.json;
  };
  const runPath = (id: string) => `/v1/payroll-runs/${id}`;
  const world = {
    call,
    ok,
    db: running.db,
    now: clock,
    service,
    /** Moves the clock to 9:00 of a day. */
    on(day: string) {
      clock.advance(Date.parse(`${day}T09:00:00.000Z`) - clock().getTime());
    },
    async schedule(...schedules: { pay_frequency: string; pay_dates: PayDate[]; pay_group?: string }[]) {
      const all = schedules.map((schedule) => ({ pay_group: null, ...schedule }));
      for (const { year, schedules: ofYear } of byYear(all as Schedule[]).years) {
        const url = `/v1/employers/${EMPLOYER}/pay-schedules/${year}`;
        ok(await call({ method: 'PUT', url, body: { schedules: ofYear } }));
      }
    },
    /** Stages a census of biweekly employees, unless their fields state another frequency. */
    async census(people: Record<string, Fields>, employer = EMPLOYER) {
      const employees = Object.entries(people).map(([id, fields]) =>
        person(id, { pay_frequency: 'biweekly', ...fields }),
      );
      ok(
        await call({
          method: 'PUT',
          url: `/v1/employers/${employer}/census`,
          body: { organization, employees },
        }),
      );
    },
    /** Reports an employment change and waits until the service has accepted it. */
    async report(kind: string, body: object) {
      ok(await call({ method: 'POST', url: `/v1/employee-changes/${kind}`, body }));
      await sendAll(loop);
    },
    /** Delivers a version of a deduction: biweekly, and without an employer amount. */
    async deduct(id: string, fields: Fields, createdAt?: string) {
      events += 1;
      const plain = { id, employee_id: 'emp-1', period: 'biweekly', employer_contribution: '0.00' };
      const sent = createdAt === undefined ? clock() : new Date(createdAt);
      const delivery = deductionOf(`evt-${events}`, { ...plain, ...fields }, sent.toISOString());
      await deliver(running.db, [delivery], clock().toISOString());
    },
    async receive(type: string, data: object, createdAt = clock().toISOString()) {
      events += 1;
      const event = eventOf(`evt-${events}`, type, data, createdAt);
      await deliver(running.db, [event], clock().toISOString());
    },
    put: (id: string, payDate: string, fields: Fields = {}) =>
      call({
        method: 'PUT',
        url: runPath(id),
        body: { employer_id: EMPLOYER, pay_frequency: 'biweekly', ...dateOf(payDate), ...fields },
      }),
    /** Deletes an open run: a pay date has one. */
    drop: (id: string) => call({ method: 'DELETE', url: runPath(id) }),
    run: (id: string) => call({ url: runPath(id) }).then(ok),
    lines: async (id: string): Promise<Json[]> => ok(await call({ url: `${runPath(id)}/lines` })).data,
    readiness: (id: string) => call({ url: `${runPath(id)}/readiness` }).then(ok),
    async check(id: string, name: string): Promise<Json> {
      const { checks } = await world.readiness(id);
      return checks.find((one: Json) => one.id === name);
    },
    finalize: (id: string, body: object = {}, etag?: string) =>
      call({
        method: 'POST',
        url: `${runPath(id)}/finalize`,
        body,
        ...(etag !== undefined && { headers: { 'if-match': `"${etag}"` } }),
      }),
    /** Creates a run and finalizes it, if exactly these checks and `NO_SYNC` fail. Returns its lines. */
    async paid(id: string, payDate: string, fields: Fields = {}, fails: string[] = []): Promise<Json[]> {
      ok(await world.put(id, payDate, fields));
      const { checks, etag } = await world.readiness(id);
      const failed = checks.filter(({ result }: Json) => result === 'fail').map((one: Json) => one.id);
      t.strictSame(failed.toSorted(), [NO_SYNC, ...fails].toSorted(), `failed checks of ${id}`);
      ok(await world.finalize(id, { accept: failed, reason: 'a test' }, etag));
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
export const adjustmentsIn = (lines: Json[]) => lines.filter(({ kind }) => kind === 'adjustment');
