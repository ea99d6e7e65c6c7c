import t, { type Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { censusOf, person, stage, uploadText } from '../census/parts.ts';
import { open, scratch } from '../database/scratch.ts';
import { setClock } from '../outbox/parts.ts';
import { useOwnPostgres } from '../support/engine.ts';
import {
  body,
  employment,
  event,
  finalize,
  finalizedOn,
  learn,
  put,
  readyEmployer,
  send,
  storedRun,
  taken,
  verified,
} from '../support/payroll.ts';
import { startWire } from '../support/wire.ts';

await useOwnPostgres();

/**
 * Runs the work once for each of its commits. The server commits, but its response is lost, so the work's rows must be
 * complete or absent. `prepare` creates a new database.
 */
async function eachLostAnswer(
  t: Test,
  prepare: () => Promise<{ db: Db; url: string }>,
  work: (db: Db) => Promise<unknown>,
  check: (db: Db, lost: number) => Promise<void>,
): Promise<void> {
  for (let lost = 1; ; lost += 1) {
    const { db, url } = await prepare();
    const wire = await startWire(t, url);
    wire.cutting = { how: 'after', every: lost };
    const failed = await work(open(t, wire.url)).then(
      () => false,
      () => true,
    );
    if (wire.cuts.after === 0) return void t.ok(lost > 1, `${lost - 1} commits, each lost once`);
    t.ok(failed, `the answer to commit ${lost} is lost, and the caller gets an error`);
    await check(db, lost);
  }
}

t.test('a run whose finalize lost a response is open, or final with all its lines', async (t) => {
  const prepare = async () => {
    const given = await scratch(t);
    await learn(given.db, employment('a'), employment('b'));
    await send(given.db, event('d1', '2026-01-01', { employee_id: 'a' }));
    await send(given.db, event('d2', '2026-01-01', { employee_id: 'b' }));
    await put(given.db, 'r', body(2));
    return given;
  };
  const states = new Set<string>();
  await eachLostAnswer(
    t,
    prepare,
    (db) => finalize(db, 'r'),
    async (db) => {
      const { state } = await storedRun(db, 'r');
      states.add(state);
      if (state === 'open')
        t.match(await finalize(db, 'r'), { outcome: 'finalized' }, 'it is finalized again');
      t.match(await verified(db, 'r'), { identical: true, lines: 2 }, state);
    },
  );
  t.strictSame([...states].sort(), ['finalized', 'open'], 'both were seen');
});

t.test('a report of deductions taken that lost a response is stored whole or not at all', async (t) => {
  const PAY_DATE = '2026-06-05';
  const given = await scratch(t);
  const { db } = given;
  await readyEmployer(t, db);
  await finalizedOn(db, PAY_DATE);
  let reports = 0;
  await eachLostAnswer(
    t,
    async () => given,
    (through) => taken(through, PAY_DATE, { employee_id: 'emp-1', amount: '40' }),
    async () => {
      const rows = await db
        .selectFrom('taken_reports')
        .select(['report', 'line_count'])
        .where('recorded_at', 'is not', null)
        .execute();
      reports = rows.length;
      for (const { report, line_count } of rows) {
        const kept = await db.selectFrom('taken_lines').select('line').where('report', '=', report).execute();
        if (report === rows.at(-1)?.report) t.equal(kept.length, line_count, `report ${report}`);
      }
    },
  );
  t.ok(reports > 0, 'at least one was stored');
});

t.test('a census whose staging lost a response is complete, or the previous one stays current', async (t) => {
  const prepare = async () => {
    const given = await scratch(t);
    await stage(given.db, setClock(), censusOf([person('e-1')]));
    return given;
  };
  const before = censusOf([person('e-1')]);
  const after = censusOf([person('e-1'), person('e-2')]);
  const seen = new Set<string>();
  await eachLostAnswer(
    t,
    prepare,
    (db) => stage(db, setClock(), after),
    async (db) => {
      const text = (await uploadText(t, db)) as string;
      t.ok(text === before || text === after, 'whole');
      seen.add(text);
    },
  );
  t.strictSame(seen, new Set([before, after]), 'both were seen');
});
