/** Whether a payroll run can trust the ledger now: each check says what it found and what to do about it. */
import type { Db } from '../database/tables.ts';
import { type Check, LEDGER_CHECKS } from './checks.ts';
import { FOUND_AT_MOST, type Found, type Question } from './findings.ts';

export type CheckResult = {
  id: string;
  result: 'pass' | 'warn' | 'fail';
  /** How many were found; at most `FOUND_AT_MOST` are counted. */
  count: number;
  /** What to do; for a passed check what it means. */
  advice: string;
  examples: string[];
};

export type ReadinessReport = {
  /** No check failed. */
  ready: boolean;
  checked_at: string;
  checks: CheckResult[];
};

/** Examples shown of each check: enough to start with, few enough to read. */
const EXAMPLES = 20;

/** Runs every check of the ledger; with `employerId` those that concern one employer look at that one only. */
export function readReadiness(db: Db, question: Question): Promise<ReadinessReport> {
  return reportOf(db, LEDGER_CHECKS, question);
}

/** Runs checks, one after the other, and tells what they found. */
export async function reportOf<Asked extends Question>(
  db: Db,
  checks: readonly Check<Asked>[],
  question: Asked,
): Promise<ReadinessReport> {
  const results: CheckResult[] = [];
  for (const { id, ask, advice, passed } of checks) {
    const found = await ask(db, question);
    results.push(resultOf(id, found, found.length === 0 ? passed : advice));
  }
  return {
    ready: results.every((check) => check.result !== 'fail'),
    checked_at: question.now.toISOString(),
    checks: results,
  };
}

function resultOf(id: string, found: readonly Found[], advice: string): CheckResult {
  const fails = found.some((one) => one.result === 'fail');
  return {
    id,
    result: found.length === 0 ? 'pass' : fails ? 'fail' : 'warn',
    count: found.reduce((sum, one) => Math.min(FOUND_AT_MOST, sum + (one.count ?? 1)), 0),
    advice,
    examples: found.slice(0, EXAMPLES).map((one) => one.example),
  };
}
