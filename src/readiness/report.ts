/** Gathers the checks of the domain modules and reports whether a payroll run can trust the ledger now. */
import { createHash } from 'node:crypto';
import { CENSUS_HELD, CENSUS_SYNCS } from '../census/checks.ts';
import {
  type AcceptableFinding,
  type AcceptedFinding,
  type Check,
  type CheckResult,
  type FindAcceptance,
  FOUND_AT_MOST,
  type Found,
  type Question,
  type ReadinessReport,
  type RememberedFinding,
} from '../checks.ts';
import { engineOf } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { EVENT_CHECKS } from '../inbox/checks.ts';
import { withoutAmounts } from '../inbox/unapplied.ts';
import { DATE_CHECKS, DEDUCTIONS_UNMATCHED, EMPLOYED_TWICE, type LedgerQuestion } from '../ledger/checks.ts';
import { OF_ANOTHER_EMPLOYER } from '../ledger/visibility.ts';
import { SENDING_CHECKS } from '../outbox/checks.ts';
import type { AcceptanceRow } from '../payroll/lifecycle/acceptances.ts';
import { EMPLOYER_UNKNOWN } from '../payroll/lifecycle/checks.ts';
import { diskInWords, diskOf, judgeDisk } from '../telemetry/disk.ts';

const DISK_SPACE: Check<Db> = {
  id: 'disk-space',
  isGeneral: true,
  title: 'The disk is almost full',
  ask: diskFilling,
  advice:
    'Free space on the disk of the database. On a full disk, deliveries are refused and the ledger stops.',
  passed: async (db) =>
    engineOf(db) === 'sqlite'
      ? 'The disk of the database has free space.'
      : 'The disk of a PostgreSQL server is not checked here.',
};

async function diskFilling(db: Db): Promise<Found[]> {
  const disk = await diskOf(db);
  if (disk === null) return [];
  const result = judgeDisk(disk);
  return result === 'pass' ? [] : [{ example: diskInWords(disk), result }];
}

const CLOCK: Check<Db> = {
  id: 'clock',
  isGeneral: true,
  title: 'The clock of the sidecar may be wrong',
  command: 'doctor',
  // It warns: a run is computed from stored dates, and only a person can tell whether one of them is wrong.
  ask: async (_db, { clockWarning }) =>
    clockWarning === null ? [] : [{ example: clockWarning, result: 'warn' }],
  advice:
    'Times of receipt, effective dates and today come from the clock. Synchronize it with a time server. If it is right now, restart the sidecar.',
  passed: 'The clock of this sidecar is right, as far as it can be checked.',
};

/** The checks of the ledger that a run includes, in the order of the report. */
export const COMMON_CHECKS: readonly Check<Db, LedgerQuestion>[] = [
  ...EVENT_CHECKS,
  ...SENDING_CHECKS,
  CENSUS_SYNCS,
  CENSUS_HELD,
  DEDUCTIONS_UNMATCHED,
  ...DATE_CHECKS,
  EMPLOYER_UNKNOWN,
  DISK_SPACE,
  CLOCK,
];

/** A run has its own check for employees with two employers, by its pay period. */
export const LEDGER_CHECKS: readonly Check<Db, LedgerQuestion>[] = [...COMMON_CHECKS, EMPLOYED_TWICE];

/** Returns a report as the API and the command line show it: without `seesAmounts`, without the amounts of changes. */
export function viewReadiness(
  { acceptable: _, failed: __, remembered: ___, ...report }: ReadinessReport,
  seesAmounts: boolean,
) {
  const checks = report.checks.map(({ unapplied, ...check }) => {
    return unapplied === undefined
      ? check
      : { ...check, unapplied: seesAmounts ? unapplied : unapplied.map(withoutAmounts) };
  });
  return { ...report, checks };
}

/** Examples shown for each check: enough to start with, few enough to read. */
const EXAMPLES = 20;

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
  const results: CheckResult[] = [];
  const acceptable: AcceptableFinding[] = [];
  const failed: AcceptableFinding[] = [];
  const remembered: RememberedFinding[] = [];
  const hash = createHash('sha256');
  const isLimited = question.viewer != null;
  let isBlocked = false;
  for (const { id, ask, advice, passed, isGeneral = false, isBlocking = false } of checks) {
    const findings = await ask(db, question);
    const open: Found[] = [];
    const accepted: AcceptedFinding[] = [];
    for (const finding of findings) {
      const { result, example, employeeId = null, ids = [] } = finding;
      const identified = { checkId: id, result, employeeId, ids };
      const acceptance = acceptanceOf(identified);
      if (acceptance !== null) {
        const { recordId, ...made } = acceptance;
        accepted.push({ example: shownExample(finding), ...made });
        remembered.push({ ...identified, example, recordId });
        continue;
      }
      open.push(finding);
      if (isBlocking) {
        isBlocked = true;
        continue;
      }
      if (result === 'warn' && ids.length === 0) continue;
      const full = { ...identified, example };
      const isSeen = !isLimited || (!isGeneral && finding.isHidden !== true);
      acceptable.push(isSeen ? full : hidden(identified));
      if (result === 'fail') failed.push(full);
      hash.update(`${JSON.stringify([identified, example])}\n`);
    }
    const message =
      findings.length > 0
        ? [...new Set([advice, ...findings.flatMap((finding) => finding.advice ?? [])])].join(' ')
        : typeof passed === 'string'
          ? passed
          : await passed(db, question);
    const unapplied = isLimited
      ? []
      : findings.flatMap((finding) => finding.unapplied ?? []).slice(0, EXAMPLES);
    const result = resultOf(id, open, accepted, message, isLimited && isGeneral);
    results.push(unapplied.length === 0 ? result : { ...result, unapplied });
  }
  return {
    ready: !isBlocked && acceptable.every(({ result }) => result === 'warn'),
    checked_at: question.now.toISOString(),
    checks: results,
    etag: hash.digest('hex'),
    acceptable,
    failed,
    remembered,
  };
}

const COMMON_IDS: ReadonlySet<string> = new Set([...COMMON_CHECKS, EMPLOYED_TWICE].map(({ id }) => id));

/**
 * Returns accepted findings of a run as a caller limited to employers sees them: without the example, which another caller
 * may have seen in full, and of checks of the whole ledger without ids.
 */
export function limitedAcceptances<R extends Pick<AcceptanceRow, 'check_id' | 'employee_id' | 'ids'>>(
  rows: readonly R[],
) {
  return rows.map((row) => {
    const shown = { ...row, example: null };
    return COMMON_IDS.has(row.check_id) ? { ...shown, employee_id: null, ids: '[]' } : shown;
  });
}

/** Returns a finding that the viewer accepts without seeing what it is about. */
function hidden({ checkId, result }: Pick<AcceptableFinding, 'checkId' | 'result'>): AcceptableFinding {
  return { checkId, result, employeeId: null, ids: [], example: 'not visible to this token' };
}

function shownExample({ example, isHidden }: Found): string {
  return isHidden === true ? OF_ANOTHER_EMPLOYER : example;
}

function resultOf(
  id: string,
  open: readonly Found[],
  accepted: readonly AcceptedFinding[],
  advice: string,
  isOnlyCounted: boolean,
): CheckResult {
  const worst = open.some((finding) => finding.result === 'fail') ? 'fail' : open.length > 0 ? 'warn' : null;
  const counted = open.reduce((sum, finding) => sum + (finding.count ?? 1), 0);
  return {
    id,
    result: worst ?? (accepted.length > 0 ? 'accepted' : 'pass'),
    count: Math.min(FOUND_AT_MOST, counted),
    advice,
    examples: isOnlyCounted ? [] : open.slice(0, EXAMPLES).map(shownExample),
    accepted: accepted.slice(0, EXAMPLES),
  };
}
