/** Arrears: amounts of earlier finalized runs that payroll did not take: docs/reconciliation.md. Pure. */
import { difference, total } from '../../money.ts';
import { isIncluded, type Line, lineKey, NOTHING } from '../calculation/line.ts';
import { type Carrier, contentOfLine, type Earlier, type FrozenLines } from './adjustments.ts';

/** A finalized line whose amount taken differs. */
export type Owed = { runId: string; line: string; owed: string };

/**
 * Returns what is owed by the latest report that names each line; a report replaces only the lines it names.
 *
 * @param rows lines of recorded reports, older reports first
 */
export function owedByLatest<
  Row extends { employee_id: string; line: string; owed: string; run_id?: string },
>(rows: readonly Row[]): Row[] {
  const latest = new Map(
    rows.map((row) => [JSON.stringify([row.run_id ?? null, row.employee_id, row.line]), row]),
  );
  return [...latest.values()].filter(({ owed }) => owed !== NOTHING);
}

type EarlierRun = Pick<Earlier, 'runId' | 'freezeId'>;

/** The amounts of one deduction in one run. */
type Account = { line: Line; finalized: string; owed: string; collected: string };

/**
 * Returns the arrears lines of one employee: for each earlier run and deduction, what later finalized runs have not
 * collected yet, or collected although payroll had taken it. A line of coverage whose lines cancel out has none.
 */
export function arrearsLines(
  earlier: readonly EarlierRun[],
  owed: readonly Owed[],
  frozen: FrozenLines,
  carrier: Carrier,
): Line[] {
  const lines = earlier.flatMap((one) => {
    const accounts = accountsOf(
      one,
      owed.filter(({ runId }) => runId === one.runId),
      frozen,
    );
    return [...accounts]
      .filter(([deductionId]) => carrier.named?.has(deductionId) !== false)
      .map(([, account]) => arrearsLine(one.runId, account, carrier));
  });
  const left = lines.filter((line) => line.member_amount !== NOTHING);
  const nets = Map.groupBy(left, (line) => line.line_of_coverage);
  return left.filter((line) => {
    const ofCoverage = nets.get(line.line_of_coverage) as Line[];
    return total(ofCoverage.map((one) => one.member_amount)) !== NOTHING;
  });
}

/** Returns accounts by deduction. A run may have several lines of one: regular ones, adjustments and arrears. */
function accountsOf(
  { runId, freezeId }: EarlierRun,
  owed: readonly Owed[],
  frozen: FrozenLines,
): Map<string, Account> {
  const accounts = new Map<string, Account>();
  const accountOf = (line: Line): Account => {
    const account = accounts.get(line.deduction_id);
    if (account !== undefined) return account;
    const opened = { line, finalized: NOTHING, owed: NOTHING, collected: NOTHING };
    accounts.set(line.deduction_id, opened);
    return opened;
  };
  const own = new Map(
    (frozen.own.get(freezeId) ?? []).filter(isIncluded).map((line) => [lineKey(line), line]),
  );
  for (const one of owed) {
    const line = own.get(one.line);
    if (line === undefined) continue;
    const account = accountOf(line);
    account.finalized = total([account.finalized, line.member_amount]);
    account.owed = total([account.owed, one.owed]);
  }
  for (const line of frozen.trueUps.get(runId) ?? []) {
    if (line.kind !== 'arrears') continue;
    const account = accountOf(line);
    account.collected = total([account.collected, line.member_amount]);
  }
  return accounts;
}

function arrearsLine(runId: string, { line, finalized, owed, collected }: Account, carrier: Carrier): Line {
  const left = difference(owed, collected);
  const taken =
    owed === NOTHING
      ? 'nothing is owed by what payroll reports now'
      : `${finalized} finalized - ${difference(finalized, owed)} taken = ${owed}`;
  const since = collected === NOTHING ? '' : `; ${owed} - ${collected} collected since = ${left}`;
  return {
    ...contentOfLine(line, carrier),
    version: null,
    period: null,
    member_contribution: null,
    employer_contribution: null,
    member_amount: left,
    employer_amount: NOTHING,
    kind: 'arrears',
    adjustment_for: runId,
    change: null,
    amount_change: null,
    previous_amount: null,
    member_difference: null,
    employer_difference: null,
    flags: [],
    explanation: `run ${runId}: ${taken}${since}`,
  };
}
