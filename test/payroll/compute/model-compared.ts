/** The runs of random years, compared with the model. */
import { deepStrictEqual, ok } from 'node:assert/strict';
import type { Test } from 'tap';
import { scratch } from '../../database/scratch.ts';
import { verified } from '../../support/payroll.ts';
import fc, { SEED } from '../../support/seeded.ts';
import { sumOf } from './model.ts';
import type { ModelItemDecision } from './model-items.ts';
import { dueOf } from './model-regular.ts';
import { Repeats } from './model-repeats.ts';
import { RecordedWorld } from './model-world.ts';
import { FIRST_MONDAY, play, years } from './model-years.ts';

/**
 * Asserts that every run of these years has the lines of the model, can be verified and names what is new, and that all
 * amounts due add up. Returns the number of regular runs, and of those that repeat a warning that waits for no decision.
 */
export async function compareYears(
  t: Test,
  numRuns: number,
): Promise<{ regular: number; repeating: number }> {
  let [runs, lines, regular, repeating] = [0, 0, 0, 0];
  await fc.assert(
    fc.asyncProperty(years, async (year) => {
      const { db } = await scratch(t);
      const repeats = new Repeats();
      const world = new RecordedWorld(db, FIRST_MONDAY, repeats.in(db));
      await play(world, year);
      regular += repeats.runs;
      repeating += repeats.repeating;
      for (const { id } of world.runs) {
        const { identical, differences } = await verified(db, id);
        ok(identical, JSON.stringify(differences));
      }
      runs += world.runs.length;
      lines += world.runs.flatMap((run) => run.lines).length;
      for (const employer of ['acme', 'other']) await assertBalanced(world, employer);
    }),
    { numRuns },
  );
  t.pass(`${runs} runs with ${lines} lines, seed ${SEED}`);
  return { regular, repeating };
}

/** The last day of the year in which all runs of a world have open items. */
const YEAR_END = '2026-12-31';

/**
 * Asserts for every employee and deduction of an employer: taken + adjusted + recovered + written off + paid directly + still
 * open = due. Of the employer's amounts, the finalized ones count as taken.
 */
async function assertBalanced(world: RecordedWorld, employerId: string): Promise<void> {
  const runs = world.runs.filter(({ run, voided }) => run.employer_id === employerId && !voided);
  const openings = world.openings.filter(({ employer }) => employer === employerId);
  for (const employee of new Set(world.facts.map(({ employee_id }) => employee_id))) {
    const [items] = await world.items(employerId, employee, YEAR_END);
    const lines = runs.flatMap((run) => run.lines.map((line) => ({ run: run.id, ...line })));
    const own = lines.filter((line) => line.employee === employee);
    for (const deduction of new Set(['', ...world.versions.map((version) => version.deduction)])) {
      const due = runs.flatMap((run) => dueOf(world, run, runs, employee, deduction) ?? []);
      const opened = openings.filter(
        (opening) => opening.employee === employee && (opening.deduction ?? '') === deduction,
      );
      const taken = own
        .filter((line) => line.deduction === deduction)
        .map(({ run, ...line }) => ({ ...line, member: world.reported(run, line) ?? line.member }));
      const open = items.filter(({ identity }) => (identity.deduction_id ?? '') === deduction);
      const decided = world.itemDecisions
        .filter((decision) => decision.employer === employerId && decision.employee === employee)
        .filter(({ item }) => item?.split(' ')[2] === deduction);
      const owed = sumOf([...due, ...opened.map(({ amounts }) => amounts)]);
      const accounted = sumOf([...taken, ...open.map(({ outstanding }) => outstanding)]);
      deepStrictEqual(accounted.employer, owed.employer);
      const rest = owed.member - accounted.member - sumOfAmounts(decided, 'paid_directly');
      // A write-off counts by at most its own amount.
      const [back, more] = [false, true].map((isMore) =>
        sumOfAmounts(
          decided.filter(({ amount }) => (amount ?? 0n) > 0n === isMore),
          'write_off',
        ),
      ) as [bigint, bigint];
      ok(back <= rest && rest <= more, `${employee} ${deduction}: ${rest} written off`);
    }
  }
}

function sumOfAmounts(decisions: readonly ModelItemDecision[], action: ModelItemDecision['action']): bigint {
  return decisions
    .filter((decision) => decision.action === action)
    .reduce((sum, { amount }) => sum + (amount ?? 0n), 0n);
}
