import t, { type Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { open, scratch } from '../database/scratch.ts';
import { useOwnPostgres } from '../support/engine.ts';
import {
  body,
  employment,
  event,
  finalize,
  learn,
  put,
  send,
  storedRun,
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
