import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ParsedJson } from '../contract/json.ts';
import { isFatal } from '../database/errors.ts';
import { codeOf, type Problem } from '../errors.ts';
import { CHANGE_KINDS } from '../outbox/manual.ts';
import type { Actor } from '../security/audit.ts';
import type { Log } from '../telemetry/log.ts';
import {
  type Accepted,
  type Accepting,
  acceptChanges,
  CHANGES_AT_ONCE,
  keyProblem,
  type Submission,
} from './accept.ts';
import { checkChange } from './change.ts';
import { type Limits, limitProblem } from './limits.ts';

/** A large payroll's changes of one day, accepted within seconds. */
export const BATCH_CHANGES_MAX = 10_000;
export const LINE_BYTES_MAX = 256 * 1024;
/** The most problems reported per line, more than it has fields. */
const LINE_PROBLEMS_MAX = 50;
/** Once so many are reported of a batch, each further line reports its first one: a response of megabytes blocks the thread. */
const BATCH_PROBLEMS_MAX = 10_000;

export type LineResult =
  | {
      readonly status: 'accepted' | 'repeated';
      readonly changeId: string;
      /** `canceled`: sending was off, so it is not sent. */
      readonly state: 'pending' | 'canceled';
      readonly near?: string | undefined;
    }
  /**
   * Nothing of the line was accepted. `elsewhere`: it names an employee of another employer. `unavailable`: the database failed, and
   * the line may be sent again. `isPerhapsProbe`: it names an employee or employer that a limited token does not see.
   */
  | {
      readonly status: 'refused' | 'elsewhere' | 'conflict' | 'unavailable';
      readonly problems: readonly Problem[];
      readonly isPerhapsProbe?: true;
    };

/** `wakeSend` is called after each transaction. */
export type BatchParts = Accepting & { log: Log; wakeSend: () => void };

/**
 * Accepts the lines of a batch in order and returns one result per line. Each transaction takes `CHANGES_AT_ONCE`. Throws
 * the database's error if nothing was accepted yet; otherwise the remaining lines are `unavailable`.
 */
export async function acceptBatch(
  parts: BatchParts,
  lines: Iterable<ParsedJson>,
  actor: Actor,
  limits: Limits | null = null,
): Promise<LineResult[]> {
  const results: LineResult[] = [];
  let some: (Submission | LineResult)[] = [];
  let isLost = false;
  let listed = 0;
  const flush = async (): Promise<void> => {
    const settled = isLost ? null : await acceptSome(parts, some, results.length === 0);
    isLost = settled === null;
    results.push(...(settled ?? some.map((entry) => ('status' in entry ? entry : UNAVAILABLE))));
    some = [];
  };
  for (const line of lines) {
    const entry = submissionOf(line, actor, listed < BATCH_PROBLEMS_MAX ? LINE_PROBLEMS_MAX : 1);
    if ('problems' in entry) listed += entry.problems.length;
    some.push('change' in entry ? { ...entry, limits } : entry);
    if (some.length < CHANGES_AT_ONCE) continue;
    await flush();
    // Lines that are refused need no transaction, in which other work could run.
    await nextTurn();
  }
  if (some.length > 0) await flush();
  return results;
}

const UNAVAILABLE: LineResult = {
  status: 'unavailable',
  problems: [{ path: '', rule: 'was not accepted because the database failed: send it again' }],
};

/** Returns null if the database failed after earlier changes were accepted. */
async function acceptSome(
  { log, wakeSend, ...accepting }: BatchParts,
  some: readonly (Submission | LineResult)[],
  isFirst: boolean,
): Promise<LineResult[] | null> {
  const submissions = some.filter((entry) => 'change' in entry);
  let accepted: Accepted[];
  try {
    accepted = await acceptChanges(accepting, submissions);
  } catch (error) {
    if (isFirst || isFatal(error)) throw error;
    const message =
      'a batch of employment changes was interrupted: the caller must send the remaining changes again';
    log.error({ code: codeOf(error) || 'INTERNAL' }, message);
    return null;
  }
  wakeSend();
  const next = accepted.values();
  return some.map((entry): LineResult => {
    if ('status' in entry) return entry;
    const result = next.next().value as Accepted;
    if ('changeId' in result) {
      const { outcome: status, changeId, state, near } = result;
      return { status, changeId, state, near };
    }
    if (result.outcome !== 'conflict') {
      const problems = [limitProblem(result)];
      if (result.outcome === 'elsewhere') return { status: 'elsewhere', problems };
      return { status: 'refused', problems, isPerhapsProbe: true };
    }
    const rule = 'was already used for a different change: use a new key';
    return { status: 'conflict', problems: [{ path: 'idempotency_key', rule }] };
  });
}

function submissionOf(line: ParsedJson, actor: Actor, limit: number): Submission | LineResult {
  if (!line.ok) return refused([{ path: '', rule: line.reason }]);
  const { value } = line;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refused([{ path: '', rule: 'must be an object' }]);
  }
  const { kind: name, idempotency_key: key, ...body } = value as Record<string, unknown>;
  // An explicit null is a mistake: the caller meant to send a key.
  const wrongKey = key === undefined ? null : keyProblem('idempotency_key', key);
  const problems = wrongKey === null ? [] : [wrongKey];
  const kind = CHANGE_KINDS.find((known) => known === name);
  if (kind === undefined) {
    const rule = name === undefined ? 'is required' : `must be one of ${CHANGE_KINDS.join(', ')}`;
    return refused([{ path: 'kind', rule }, ...problems]);
  }
  const checked = checkChange(kind, body, limit);
  if (!checked.ok) return refused([...problems, ...checked.problems].slice(0, limit));
  if (wrongKey !== null) return refused(problems);
  return { change: checked.change, idempotencyKey: (key ?? null) as string | null, actor };
}

function refused(problems: readonly Problem[]): LineResult {
  return { status: 'refused', problems };
}
