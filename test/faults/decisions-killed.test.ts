/** A kill in the middle of a decision, an override or a finalize leaves all of it or nothing. */
import { join } from 'node:path';
import { type RawBuilder, sql } from 'kysely';
import t from 'tap';
import { openDatabase } from '../../src/database/open.ts';
import { finalizeAsItIs } from '../support/api.ts';
import { bodyOn, EMPLOYER, hireMany, schedule, setSchedules } from '../support/payroll.ts';
import { setStage } from '../support/stage.ts';
import { SYNCS, strace, straceMissing } from '../support/strace.ts';

const skip = await straceMissing();

t.setTimeout(900_000);

const EMPLOYEES = 40;
const RUN = '/v1/payroll-runs/r';
const ITEMS = `/v1/employers/${EMPLOYER}/open-items`;

/** The process is killed at the nth of these calls in any thread: while it writes a commit, or before it is durable. */
const FATES = [{ calls: SYNCS, nth: 1 }, ...[1, 3, 8, 20].map((nth) => ({ calls: ['pwrite64'], nth }))];

t.test('a kill leaves all of a decision, an override or a finalized run, or nothing', { skip }, async (t) => {
  const stage = await setStage(t);
  const { api } = stage;
  const db = openDatabase(stage.databaseUrl);
  t.teardown(() => db.destroy());
  /** Counts the rows that a request writes. The database must have none or all of them. */
  const count = async (query: RawBuilder<unknown>) => (await query.execute(db)).rows.length;
  const recordsOf = (action: string) => count(sql`select 1 from audit_records where action = ${action}`);
  const employees = await hireMany(db, EMPLOYEES);
  await setSchedules(db, [schedule()]);
  const openings = employees.map((employee_id) => ({
    ...{ id: `o-${employee_id}`, employee_id, line_of_coverage: 'medical', taxability: 'pre_tax' },
    ...{ member_amount: '5.00', employer_amount: '1.00', pay_date: '2025-06-01' },
  }));
  await api.call('POST', `/v1/employers/${EMPLOYER}/opening-items`, { items: openings });
  const run = bodyOn('2026-05-22');
  await api.call('PUT', RUN, run);
  const { data } = await api.get(`${ITEMS}?limit=${EMPLOYEES}`);
  const reviewed = (data as Record<string, string>[]).map(
    ({ id: item_id, outstanding_member_amount, outstanding_employer_amount }) => {
      return { item_id, outstanding_member_amount, outstanding_employer_amount, action: 'hold' };
    },
  );
  t.equal(reviewed.length, EMPLOYEES);

  const killed = async (name: string, request: () => Promise<unknown>, check: () => Promise<unknown>) => {
    for (const { calls, nth } of FATES) {
      const trace = join(stage.folder, `${name}-${calls[0]}-${nth}`);
      const inject = `${calls.join(',')}:signal=SIGKILL:when=${nth}`;
      const { pid, ended } = stage.sidecar;
      const traced = await strace(t, pid, trace, [...SYNCS, 'pwrite64'], [inject]);
      await request().catch(() => {});
      await stage.sidecar.end('SIGKILL');
      await Promise.all([ended, traced.ended]);
      await stage.start();
      await check();
    }
  };

  await killed(
    'decisions',
    () => api.call('POST', `${ITEMS}/decisions`, { decisions: reviewed, reason: 'a test' }),
    async () => {
      const decisions = await count(sql`select 1 from item_decisions`);
      t.equal(decisions, EMPLOYEES * (await recordsOf('item.decide')), 'all or none');
    },
  );
  let amount = 0;
  await killed(
    'override',
    () => {
      amount += 1;
      const body = { member_amount: `${amount}.00`, employer_amount: '0.00', reason: 'a test' };
      return api.call('PUT', `${RUN}/overrides/many-0000/ded-many-0000`, body);
    },
    async () => {
      const expected = (await recordsOf('run.override')) === 0 ? 0 : 1;
      const overrides = await count(sql`select 1 from run_overrides`);
      t.equal(overrides, expected, 'an override has a record, and replaces the earlier one');
    },
  );
  await killed(
    'finalize',
    () => finalizeAsItIs(stage.sidecar.api, stage.keys, 'r'),
    async () => {
      const finalized = await count(sql`select 1 from payroll_runs where state = 'finalized'`);
      t.equal(finalized, await recordsOf('run.finalize'), 'a final run has its record');
      if (finalized === 1) t.match(await api.get(`${RUN}/verify`), { identical: true });
    },
  );
});
