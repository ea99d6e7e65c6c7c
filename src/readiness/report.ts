/** Whether a payroll run can trust the ledger now: each check says what it found and what to do about it. */
import { createHash } from 'node:crypto';
import type { Db } from '../database/tables.ts';
import { type Check, LEDGER_CHECKS } from './checks.ts';
import { FOUND_AT_MOST, type Found, type Question } from './findings.ts';

export type CheckResult = {
  id: string;
  result: 'pass' | 'warn' | 'fail' | 'accepted';
  /** How many were found, accepted ones included; counted up to `FOUND_AT_MOST`. */
  count: number;
  /** What to do; for a passed check what it means. */
  advice: string;
  examples: string[];
  /** Failures that a person accepted earlier, while what they rest on is unchanged. They stop nothing. */
  accepted: AcceptedFinding[];
};

export type AcceptedFinding = {
  example: string;
  reason: string;
  accepted_by: string;
  accepted_at: string;
};

export type ReadinessReport = {
  /** No check failed. */
  ready: boolean;
  checked_at: string;
  checks: CheckResult[];
  /** Changes with the failures: a person accepts those of one report, and no others. */
  etag: string;
  /** The failures, for those who accept them. */
  failures: Failure[];
};

/** Returns a report as the API and the command line show it. */
export function viewReadiness({ failures: _, ...report }: ReadinessReport) {
  return report;
}

/** A failure that a person may accept. */
export type Failure = { checkId: string; employeeId: string | null; ids: readonly string[] };

/** How a failure was accepted earlier; null if it was not. */
export type FindAcceptance = (failure: Failure) => Omit<AcceptedFinding, 'example'> | null;

/** Examples shown for each check: enough to start with, few enough to read. */
const EXAMPLES = 20;

/** Runs every check of the ledger. With `employerId`, checks that concern one employer look at that one only. */
export function readReadiness(db: Db, question: Question): Promise<ReadinessReport> {
  return reportOf(db, LEDGER_CHECKS, question);
}

/** Runs checks, one after the other, and reports what they found. */
export async function reportOf<Asked extends Question>(
  db: Db,
  checks: readonly Check<Asked>[],
  question: Asked,
  acceptanceOf: FindAcceptance = () => null,
): Promise<ReadinessReport> {
  const results: CheckResult[] = [];
  const failures: Failure[] = [];
  const hash = createHash('sha256');
  for (const { id, ask, advice, passed } of checks) {
    const found = await ask(db, question);
    const open: Found[] = [];
    const accepted: AcceptedFinding[] = [];
    for (const one of found) {
      const failure = { checkId: id, employeeId: one.employeeId ?? null, ids: one.ids ?? [] };
      const acceptance = one.result === 'fail' ? acceptanceOf(failure) : null;
      if (acceptance !== null) accepted.push({ example: one.example, ...acceptance });
      else open.push(one);
      if (one.result !== 'fail' || acceptance !== null) continue;
      failures.push(failure);
      hash.update(`${JSON.stringify([failure, one.example])}\n`);
    }
    const message =
      found.length > 0 ? advice : typeof passed === 'string' ? passed : await passed(db, question);
    results.push(resultOf(id, open, accepted, message));
  }
  return {
    ready: failures.length === 0,
    checked_at: question.now.toISOString(),
    checks: results,
    etag: hash.digest('hex'),
    failures,
  };
}

function resultOf(
  id: string,
  open: readonly Found[],
  accepted: readonly AcceptedFinding[],
  advice: string,
): CheckResult {
  const worst = open.some((one) => one.result === 'fail') ? 'fail' : open.length > 0 ? 'warn' : null;
  const counted = open.reduce((sum, one) => sum + (one.count ?? 1), accepted.length);
  return {
    id,
    result: worst ?? (accepted.length > 0 ? 'accepted' : 'pass'),
    count: Math.min(FOUND_AT_MOST, counted),
    advice,
    examples: open.slice(0, EXAMPLES).map((one) => one.example),
    accepted: accepted.slice(0, EXAMPLES),
  };
}
