/** The check of overrides whose regular amounts are different by today's facts. Pure. */
import type { Found } from '../../checks.ts';
import { amountOf } from '../../money.ts';
import type { RunEmployee } from '../compute/computation.ts';
import { type History, historyAt } from '../compute/history.ts';
import { stateOrLatest } from '../compute/overrides.ts';
import type { EarlierRun } from '../compute/payout.ts';
import { type CheckAmounts, checkAmounts } from '../compute/shares.ts';
import type { RunTerms } from '../compute/terms.ts';
import type { Override } from '../records/basis.ts';
import { each, NONE, type RunCheck, versionId } from './check.ts';

/** `before`: the regular amounts at the time of the override. Amounts are null without a regular line. */
type Outdated = Found & { before: Amounts };
type Amounts = { member_amount?: string | null; employer_amount?: string | null };

export const OVERRIDE_OUTDATED: RunCheck<Outdated> = {
  id: 'override-outdated',
  title: 'Overrides are older than newer facts',
  severity: 'warn',
  detail: 'An override of an earlier run is named once.',
  look: (computation) => {
    const { previous } = computation;
    const earlier = computation.earlier.filter(({ isVoided, overrides }) => !isVoided && overrides.size > 0);
    if (earlier.length === 0 && computation.overrides.size === 0) return each(() => NONE);
    return each(({ employee }) => {
      const { employeeId, membership, jobAt } = employee;
      const dueOf = (run: EarlierRun, history: History): CheckAmounts | null =>
        checkAmounts(computation, run, employee, history, jobAt(run, run.position));
      // What the previous run reported is not reported again.
      const isReported = (run: EarlierRun, history: History, due: CheckAmounts | null): boolean => {
        if (previous === null || previous.position < run.position) return false;
        const known = historyAt(history, previous.position);
        const then = known === null ? null : dueOf(run, known);
        return then?.member_amount === due?.member_amount && then?.employer_amount === due?.employer_amount;
      };
      const before = earlier
        // Later runs settle the shares of a final check, so today's facts do not show which remained then.
        .filter(({ finalChecks }) => !finalChecks.has(employeeId))
        .flatMap((run) =>
          outdatedIn(run, run.runId, employee, (history) => {
            const due = dueOf(run, history);
            return isReported(run, history, due) ? undefined : due;
          }),
        );
      const now = outdatedIn(computation, computation.runId, employee, (history) =>
        membership.isIn ? checkAmounts(computation, computation, employee, history, employee) : null,
      );
      return [...before, ...now];
    });
  },
  text: ({ employee_id, deduction_id, date, before, ...now }) =>
    `${employee_id}: ${deduction_id} on ${date} would be ${inWords(now)}; it was ${inWords(before)} when overridden`,
  advice:
    'These amounts were overridden, and without the override they would be different now. In an open run, override the amount again or remove the override. An amount of a finalized run stays as it was overridden.',
  passed: 'No fact since the previous run changes the amount that an override replaced.',
  fixed: { command: 'run override --help', docs: 'payroll-runs.md#override-an-amount' },
};

/** Returns the outdated overrides of an employee in a run. `regularOf` returns undefined for a deduction to leave out. */
function outdatedIn(
  terms: RunTerms,
  runId: string | null,
  { employeeId, histories }: RunEmployee,
  regularOf: (history: History) => CheckAmounts | null | undefined,
): readonly Outdated[] {
  return (terms.overrides.get(employeeId) ?? NONE).flatMap((override): readonly Outdated[] => {
    const history = histories.find(({ deductionId }) => deductionId === override.deduction_id);
    const regular = history === undefined ? undefined : regularOf(history);
    if (history === undefined || regular === undefined) return NONE;
    const now = {
      member_amount: regular === null ? null : amountOf(regular.member_amount),
      employer_amount: regular === null ? null : amountOf(regular.employer_amount),
    };
    const before = regularAmounts(override);
    if (before.member_amount === now.member_amount && before.employer_amount === now.employer_amount)
      return NONE;
    const { employee_id, deduction_id } = override;
    const { pay_date } = terms.run;
    const version = stateOrLatest(history, employee_id, terms.day)?.version ?? null;
    const facts = { employee_id, deduction_id, version, run_id: runId, date: pay_date };
    const ids = [versionId({ deduction_id, version }), pay_date];
    return [{ ...facts, ...now, before, ids, result: 'warn' }];
  });
}

function regularAmounts({ regular_member_amount, regular_employer_amount }: Override): Amounts {
  const isLine = regular_member_amount !== null && regular_employer_amount !== null;
  return {
    member_amount: isLine ? regular_member_amount : null,
    employer_amount: isLine ? regular_employer_amount : null,
  };
}

/** Returns `69.23 plus employer 23.08`, or `no line`. */
function inWords({ member_amount, employer_amount }: Amounts): string {
  if (member_amount == null || employer_amount == null) return 'no line';
  return employer_amount === '0.00' ? member_amount : `${member_amount} plus employer ${employer_amount}`;
}
