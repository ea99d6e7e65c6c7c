/** Runs of random worlds against the model of payroll.md, and what must hold whatever happened. */
import { deepStrictEqual, ok } from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import type { Line } from '../../src/payroll/runs/line.ts';
import { scratch } from '../database/scratch.ts';
import { SEED } from '../ledger/model.ts';
import { amountDone, amountNow } from './model.ts';
import { messages, SmallWorld, step } from './model-worlds.ts';
import { body, linesOf, verified } from './runs-stage.ts';

/** Worlds of up to 16 steps, which finalize some four runs and look at every line of them. */
const WORLDS = { numRuns: 300, interruptAfterTimeLimit: 8_000, seed: SEED };
/** Worlds whose messages come in two orders. A busy machine, or a slower engine, sees fewer of both kinds. */
const SHUFFLED = { numRuns: 60, interruptAfterTimeLimit: 3_000, seed: SEED };

t.comment(`SEED=${SEED}`);

const steps = fc.array(step, { minLength: 4, maxLength: 16 });
const schedules = fc.nat({ max: 2 });

t.test('the lines of every run are those of the model, and every finalized run can be proved', async (t) => {
  const { db } = await scratch(t);
  let worlds = 0;
  await fc.assert(
    fc.asyncProperty(schedules, steps, async (count, given) => {
      worlds += 1;
      const world = new SmallWorld(db, `w${worlds}`, count);
      await world.begin();
      for (const one of given) await world.take(one);
      const last = await world.put(body(6, { adjustments: 'include' }));
      deepStrictEqual(last.is, last.should);
      assertConserved(world, last.roster, await linesOf(db, last.id));
      for (const run of world.runs) {
        const { identical, differences } = await verified(db, run.id);
        ok(identical, JSON.stringify(differences));
      }
    }),
    WORLDS,
  );
  t.pass(`${worlds} worlds`);
});

/** What was finalized, what was settled since and what is due now come to what is known now. */
function assertConserved(world: SmallWorld, roster: ReadonlySet<string>, lines: readonly Line[]): void {
  for (const run of world.runs.filter((one) => !one.voided && one.run.pay_date.startsWith('2026-'))) {
    const employees = [...run.roster].filter((employee) => roster.has(employee));
    for (const employee of employees) {
      for (const deduction of new Set(world.versions.map((version) => version.deduction))) {
        const due = lines
          .filter((line) => line.adjustment_for === run.id && line.employee_id === employee)
          .filter((line) => line.deduction_id === deduction && !line.flags.includes('reported'));
        const sum = (side: 'member_amount' | 'employer_amount') =>
          due.reduce((all, line) => all + BigInt(line[side].replace('.', '')), 0n);
        const done = amountDone(world, run, employee, deduction);
        deepStrictEqual(
          { member: done.member + sum('member_amount'), employer: done.employer + sum('employer_amount') },
          amountNow(world, run, employee, deduction),
        );
      }
    }
  }
}

t.test('the order in which messages come never matters to a new run', async (t) => {
  const { db } = await scratch(t);
  let worlds = 0;
  await fc.assert(
    fc.asyncProperty(messages, fc.infiniteStream(fc.nat()), async (given, keys) => {
      worlds += 1;
      const shuffled = given
        .map((message) => ({ message, key: keys.next().value }))
        .sort((one, other) => one.key - other.key)
        .map(({ message }) => message);
      const seen: string[] = [];
      for (const [index, order] of [given, shuffled].entries()) {
        const prefix = `o${worlds}-${index}`;
        const world = new SmallWorld(db, prefix, 0);
        await world.begin();
        for (const message of order) await world.send(message);
        const { id } = await world.put(body(2));
        const lines = await linesOf(db, id);
        // The number of a version is the place in which it came.
        seen.push(JSON.stringify(lines.map((line) => ({ ...line, version: null }))).replaceAll(prefix, ''));
      }
      deepStrictEqual(seen[0], seen[1]);
    }),
    SHUFFLED,
  );
  t.pass(`${worlds} worlds`);
});
