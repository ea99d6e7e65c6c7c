/** What a run settles, or tells, of earlier finalized runs: adjustments and arrears of one employee. Pure. */
import {
  adjustmentLines,
  type Carrier,
  type Earlier,
  frozenLinesOf,
  isTouched,
  marked,
} from './adjustments.ts';
import { arrearsLines, type Owed } from './arrears.ts';
import type { Run } from './body.ts';
import type { Flag, Line } from './line.ts';
import type { History } from './lines.ts';
import type { Membership } from './population.ts';

/** The same for all employees. */
export type Settling = {
  run: Run;
  earlier: readonly Earlier[];
  carrier: Carrier;
  /** By employee, the runs that settled something and those that they settled, by their ids. */
  settled: ReadonlyMap<string, ReadonlySet<string>>;
};

/** Of a finalized run: who had lines that settled an earlier run, by the id of that. */
export type Settlements = readonly (readonly [runId: string, employeeIds: readonly string[]])[];

export type Debtor = {
  employeeId: string;
  membership: Membership;
  histories: readonly History[];
  owed: readonly Owed[];
};

/** The lines of an employee in a finalized run. `isIn`: not of one who has left, of whose lines it told. */
export type FrozenRow = { freezeId: string; isIn: boolean; lines: readonly Line[] };

/** The earlier runs whose lines must be read for an employee: most often none. */
export function runsToSettle({ earlier, settled }: Settling, debtor: Debtor): Earlier[] {
  const { employeeId, histories, owed } = debtor;
  const known = settled.get(employeeId);
  return earlier.filter(
    (one) =>
      known?.has(one.runId) ||
      owed.some(({ runId }) => runId === one.runId) ||
      isTouched(one, employeeId, histories),
  );
}

/** The adjustments and arrears of an employee, by what the run says of each. `rows`: of `runsToSettle`, in order. */
export function settlingLines(
  { run, earlier, carrier }: Settling,
  { employeeId, membership, histories, owed }: Debtor,
  rows: readonly FrozenRow[],
): Line[] {
  const isGone = !membership.isIn && membership.why === 'gone';
  if (!(membership.isIn || isGone)) return [];
  const frozen = frozenLinesOf(rows);
  // Who is gone has no other paycheck to wait for: the runs of the same pay group tell of it.
  const concerned = earlier.filter(
    ({ rules }) =>
      !isGone || (rules.run.pay_frequency === run.pay_frequency && rules.run.pay_group === run.pay_group),
  );
  const gone: Flag[] = isGone ? ['no_further_paycheck', 'reported'] : [];
  const adjustments = concerned.flatMap((one) =>
    adjustmentLines(one, employeeId, histories, frozen, carrier),
  );
  const flags: Flag[] = isGone ? gone : run.arrears === 'report' ? ['reported'] : [];
  const arrears = arrearsLines(concerned, owed, frozen, carrier);
  return [
    ...marked(adjustments, run.adjustments === 'report' ? [...gone, 'reported'] : gone),
    ...arrears.map((line) => ({ ...line, flags: [...flags] })),
  ];
}
