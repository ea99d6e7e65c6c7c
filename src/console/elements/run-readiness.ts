/** Whether a run can be finalized or voided, and what it waits for. */
import type { ResultOf } from '../../api/operation.ts';
import type { getPayrollRunReadiness } from '../../api/operations/payroll-runs.ts';
import { textsOfCheck, titleOfCheck } from '../../api/operations/readiness.ts';
import { type Html, html } from '../html.ts';
import { mayApprove, type Visit } from '../page.ts';
import { type Accepting, checkList, isChoice } from './checks.ts';
import type { Run } from './finding.ts';
import { actorName, capitalized, lacksScope } from './format.ts';

export type RunReadiness = ResultOf<typeof getPayrollRunReadiness>;
/** The second approval of a run. Null if none is required. */
export type RunApproval = RunReadiness['approval'];

const APPROVED = { finalize: 'this run', void: 'voiding this run' } as const;

/** Returns what another person must do before the user can finalize or void a run; null if the user can do it. */
export function obstacleOf(
  approval: RunApproval,
  { caller }: Pick<Visit, 'caller'>,
  action: keyof typeof APPROVED = 'finalize',
): string | null {
  if (approval === null) return null;
  const what = APPROVED[action];
  if (approval.state === 'missing')
    return `One person must approve ${what}, and then another one can ${action} it.`;
  if (approval.state === 'yours') return `You approved ${what}, so another person must ${action} it.`;
  return caller?.person == null ? `A person must ${action} this run: your token names none.` : null;
}

export function readinessOf(readiness: RunReadiness, run: Run, visit: Visit, accepting?: Accepting): Html {
  const { checks } = readiness;
  const isPassed = readiness.ready || isApproved(readiness);
  const obstacle = obstacleOf(readiness.approval, visit);
  const tone = !isPassed ? 'bad' : obstacle !== null ? '' : 'good';
  const title = isPassed ? passedTitle(readiness, obstacle !== null) : 'Not ready';
  const isAcceptable = checks.some((check) => isChoice(check, accepting));
  // The run's bar shows the next step.
  const hint = accepting === undefined && !isPassed ? null : hintOf(readiness, visit, isAcceptable);
  return html`
    <section id="readiness" role=${isAcceptable ? 'group' : undefined} class=${`card readiness ${tone}`} aria-labelledby="readiness-title" aria-describedby=${isAcceptable ? 'readiness-hint' : undefined}>
      <h2 id="readiness-title">${title}</h2>
      ${hint !== null && html`<p id="readiness-hint">${hint}</p>`}
      ${checkList(readiness, visit, run, accepting)}
    </section>
  `;
}

/** Reports whether an approval covers the lines of a run and every check that fails. */
export function isApproved({ approval }: RunReadiness): boolean {
  return approval !== null && approval.state !== 'missing';
}

function passedTitle({ ready, approval }: RunReadiness, isWaiting: boolean): string {
  if (!isWaiting)
    return ready ? 'Ready to finalize' : `Approved by ${actorName(approval?.approved_by ?? null)}`;
  return approval?.state === 'missing' ? 'Waiting for approval' : 'Waiting for another person to finalize';
}

function hintOf(readiness: RunReadiness, visit: Visit, isAcceptable: boolean): string | null {
  const { ready, approval } = readiness;
  if (ready)
    return isAcceptable
      ? 'You can select warnings to accept. Later runs show them as accepted until their data changes.'
      : null;
  if (isApproved(readiness)) return 'The approval accepts the failed checks.';
  if (isAcceptable)
    return 'Fix the failed checks, or select each one that the reason below covers. Each failed check must be selected.';
  return `${capitalized(toPass(failedIn(readiness), approval !== null, visit))}.`;
}

/** Returns what must happen to failed checks before a run can be final. Users who may not accept findings ask a manager. */
export function toPass(failed: readonly string[], needsApproval: boolean, visit: Visit): string {
  if (blockingIn(failed) !== null) return 'fix the failed checks: one of them cannot be accepted';
  if (needsApproval && mayApprove(visit))
    return 'fix the failed checks, or approve the run and accept their findings';
  return !needsApproval && visit.may('runs:approve')
    ? 'fix the failed checks, or accept their findings with a reason'
    : 'fix the failed checks, or ask a payroll manager to accept their findings';
}

/** Returns why the user may not finalize the run; null if they may. */
export function whyNot(visit: Visit, readiness: RunReadiness): string | null {
  const { ready, approval } = readiness;
  const obstacle = blockedBy(readiness) ?? obstacleOf(approval, visit);
  if (obstacle !== null || approval !== null || ready || visit.may('runs:approve')) return obstacle;
  return lacksScope('To accept the findings', 'runs:approve');
}

/** Returns why the run cannot be finalized by any user; null if a user can finalize it. */
export function blockedBy(readiness: RunReadiness): string | null {
  const id = blockingOf(readiness);
  return id && `The run cannot be finalized: ${titleOfCheck(id).toLowerCase()}.`;
}

export function failedIn({ checks }: RunReadiness): string[] {
  return checks.filter(({ result }) => result === 'fail').map(({ id }) => id);
}

/** Returns the failed check that nobody can accept, or null. */
export function blockingOf(readiness: RunReadiness): string | null {
  return blockingIn(failedIn(readiness));
}

function blockingIn(failed: readonly string[]): string | null {
  return failed.find((id) => textsOfCheck(id).isBlocking) ?? null;
}
