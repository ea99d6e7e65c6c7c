/** Gathers the checks of the domain modules and reports whether a payroll run can trust the ledger now. */
import { createHash } from 'node:crypto';
import { CENSUS_HELD, CENSUS_SYNCS } from '../census/checks.ts';
import {
  type AcceptableFinding,
  type AcceptedFinding,
  type Check,
  type CheckResult,
  type FindAcceptance,
  type Finding,
  FOUND_AT_MOST,
  type Found,
  findingOf,
  type OpenFinding,
  type Question,
  type ReadinessReport,
  type RememberedFinding,
} from '../checks.ts';
import type { Db } from '../database/tables.ts';
import { EVENT_CHECKS } from '../inbox/checks.ts';
import { withoutAmounts } from '../inbox/unapplied.ts';
import { DATE_CHECKS, DEDUCTIONS_UNMATCHED, EMPLOYED_TWICE, type LedgerQuestion } from '../ledger/checks.ts';
import { SENDING_CHECKS } from '../outbox/checks.ts';
import type { AcceptedInRun } from '../payroll/lifecycle/acceptances.ts';
import { CLOCK, DISK_SPACE, EMPLOYER_UNKNOWN, PLACEHOLDERS_OPEN } from './checks.ts';

/** The checks of the ledger that a run includes, in the order of the report. */
export const COMMON_CHECKS: readonly Check<Db, LedgerQuestion>[] = [
  ...EVENT_CHECKS,
  ...SENDING_CHECKS,
  CENSUS_SYNCS,
  CENSUS_HELD,
  DEDUCTIONS_UNMATCHED,
  ...DATE_CHECKS,
  PLACEHOLDERS_OPEN,
  EMPLOYER_UNKNOWN,
  DISK_SPACE,
  CLOCK,
];

/** A run has its own check for employees with two employers, by its pay period. */
export const LEDGER_CHECKS: readonly Check<Db, LedgerQuestion>[] = [...COMMON_CHECKS, EMPLOYED_TWICE];

/** Returns a report as the API and the command line show it: without `seesAmounts`, without the amounts of changes. */
export function viewReadiness(
  { ready, checked_at, checks, etag }: ReadinessReport,
  seesAmounts: boolean,
): Pick<ReadinessReport, 'ready' | 'checked_at' | 'checks' | 'etag'> {
  const shown = checks.map(({ unapplied, ...check }) => {
    return unapplied === undefined
      ? check
      : { ...check, unapplied: seesAmounts ? unapplied : unapplied.map(withoutAmounts) };
  });
  return { ready, checked_at, checks: shown, etag };
}

/** Findings shown for each check: enough to start with, few enough to read. */
const SHOWN = 20;

/** Runs every check of the ledger. With `employerId`, checks that concern one employer look at that one only. */
export function readReadiness(db: Db, question: LedgerQuestion): Promise<ReadinessReport> {
  return reportOf(db, LEDGER_CHECKS, question);
}

/** Runs checks in order and reports their findings. */
export async function reportOf<Asked extends Question>(
  db: Db,
  checks: readonly Check<Db, Asked>[],
  question: Asked,
  acceptanceOf: FindAcceptance = () => null,
): Promise<ReadinessReport> {
  const sort = sortingOf(question.viewer != null, acceptanceOf);
  const results: CheckResult[] = [];
  for (const check of checks) {
    const found = await check.find(db, question);
    const isShown = (finding: Found) =>
      finding.wasNamed !== true || acceptanceOf(fullOf(check, finding)) !== null;
    const findings = failuresFirst(found.filter(isShown));
    const { passed } = check;
    const message =
      findings.length > 0
        ? adviceOn(check, findings)
        : typeof passed === 'string'
          ? passed
          : await passed(db, question);
    results.push(sort.result(check, findings, message));
  }
  return { checked_at: question.now.toISOString(), checks: results, ...sort.sorted() };
}

/** Sorts the findings of checks into open ones, which may be acceptable, and accepted ones. */
function sortingOf(isLimited: boolean, acceptanceOf: FindAcceptance) {
  const open: OpenFinding[] = [];
  const failed: AcceptableFinding[] = [];
  const remembered: RememberedFinding[] = [];
  const hash = createHash('sha256');

  /** Returns an open finding as the caller may see it. The ETag and approvals depend on the full finding. */
  const openFinding = <A extends Question>(
    { isBlocking }: Check<Db, A>,
    full: AcceptableFinding,
    isSeen: boolean,
  ): OpenFinding => {
    const { finding, ...identity } = full;
    const isAcceptable = !isBlocking && (full.result === 'fail' || full.ids.length > 0);
    if (isAcceptable && full.result === 'fail') failed.push(full);
    if (isAcceptable) hash.update(`${JSON.stringify([identity, finding.text])}\n`);
    return { ...(isSeen ? full : unseen(full)), isAcceptable };
  };

  return {
    /** Adds the findings of a check, and returns its result. */
    result<A extends Question>(check: Check<Db, A>, findings: readonly Found[], advice: string): CheckResult {
      const { id } = check;
      const ofCheck: OpenFinding[] = [];
      const accepted: AcceptedFinding[] = [];
      let count = 0;
      for (const found of findings) {
        const isSeen = !isLimited || (!check.isGeneral && !found.isHidden);
        const full = fullOf(check, found);
        const acceptance = acceptanceOf(full);
        if (acceptance === null) {
          ofCheck.push(openFinding(check, full, isSeen));
          count += found.count ?? 1;
          continue;
        }
        const { recordId, ...made } = acceptance;
        remembered.push({ ...full, recordId });
        accepted.push({ ...(isSeen ? full.finding : counted(id, [full.finding])), ...made });
      }
      for (const finding of ofCheck) open.push(finding);
      const isFailed = ofCheck.some(({ result }) => result === 'fail');
      const worst = isFailed ? 'fail' : count > 0 ? 'warn' : accepted.length > 0 ? 'accepted' : 'pass';
      const unapplied = isLimited ? [] : findings.flatMap((found) => found.unapplied ?? []).slice(0, SHOWN);
      return {
        ...{ id, result: worst, count: Math.min(FOUND_AT_MOST, count), advice },
        findings: shownOf(id, ofCheck),
        accepted: accepted.slice(0, SHOWN),
        ...(unapplied.length > 0 && { unapplied }),
      };
    },
    sorted() {
      const acceptable = open.filter(({ isAcceptable }) => isAcceptable);
      const ready = open.every(({ result }) => result === 'warn');
      return { ready, etag: hash.digest('hex'), open, acceptable, failed, remembered };
    },
  };
}

/** Failures come first, because a report shows the first findings. */
function failuresFirst(findings: readonly Found[]): readonly Found[] {
  const failures = findings.filter(({ result }) => result === 'fail');
  return failures.length === 0 || failures.length === findings.length
    ? findings
    : [...failures, ...findings.filter(({ result }) => result === 'warn')];
}

/** Returns a finding with what identifies it. */
function fullOf<A>(check: Check<Db, A>, found: Found): AcceptableFinding {
  const { result, employee_id = null, ids = [] } = found;
  const employeeId = check.isIdentifiedByIds ? null : employee_id;
  return { checkId: check.id, result, employeeId, ids, finding: findingOf(check, found) };
}

function adviceOn<A>({ advice }: Check<Db, A>, findings: readonly Found[]): string {
  return [...new Set([advice, ...findings.flatMap((found) => found.advice ?? [])])].join(' ');
}

/** Returns a finding for a caller who may not see what it is about. */
function unseen({ checkId, result, finding }: AcceptableFinding): AcceptableFinding {
  return { checkId, result, employeeId: null, ids: [], finding: counted(checkId, [finding]) };
}

/** Returns how much a check found, as one finding. */
function counted(check: string, findings: readonly Finding[]): Finding {
  return { check, count: findings.reduce((sum, { count = 1 }) => sum + count, 0) };
}

/** Returns the first findings of a check. Those that the caller may not see are counted together. */
function shownOf(check: string, open: readonly OpenFinding[]): Finding[] {
  const isSeen = ({ finding }: OpenFinding) => finding.text !== undefined;
  const seen = open.filter(isSeen).map(({ finding }) => finding);
  if (seen.length === open.length) return seen.slice(0, SHOWN);
  const hidden = open.filter((finding) => !isSeen(finding)).map(({ finding }) => finding);
  return [...seen.slice(0, SHOWN - 1), counted(check, hidden)];
}

const LEDGER_IDS: ReadonlySet<string> = new Set(LEDGER_CHECKS.map(({ id }) => id));

/**
 * Returns the accepted findings of a run as a caller limited to employers sees them: without the sentence, which may name other
 * employers, and for checks of the ledger without ids.
 */
export function limitedAcceptances<A extends Pick<AcceptedInRun, 'finding' | 'ids'>>(
  acceptances: readonly A[],
): A[] {
  return acceptances.map((acceptance) => {
    const { check, employee_id } = acceptance.finding;
    const hidden = counted(check, [acceptance.finding]);
    if (LEDGER_IDS.has(check)) return { ...acceptance, ids: [], finding: hidden };
    const finding = { ...hidden, ...(employee_id !== undefined && { employee_id }) };
    return { ...acceptance, finding };
  });
}
