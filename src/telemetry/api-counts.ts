/** The counts of the API thread, as plain numbers, until the metrics are read. */
import { createTally, note, type Tally } from './tally.ts';

/** Seconds of a request: most take milliseconds, a census or a large run a minute. */
const REQUEST_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 10, 60] as const;

/** How an attempt to send may end, as the send loop calls it. */
const ATTEMPT_OUTCOMES = [
  'delivered',
  'retry',
  'pause',
  'hold',
  'rejected',
  'later',
  'canceled',
  'lost',
] as const;
/** The operations on payroll runs that take time, because they compute or compare lines. */
const RUN_WORKS = ['put', 'preview', 'show', 'lines', 'finalize', 'verify', 'audit'] as const;
/** The resources that the API thread can run short of. */
const SHED_REASONS = ['event-loop', 'heap'] as const;

type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];
export type RunWork = (typeof RUN_WORKS)[number];
type ShedReason = (typeof SHED_REASONS)[number];

/** Counts since the start. */
export type PrivateCounts = {
  readonly attempts: Record<AttemptOutcome, number>;
  readonly runs: Record<RunWork, Tally>;
  readonly shed: Record<ShedReason, number>;
  /** Seconds by method and route as it is declared: `GET /v1/deductions/:deduction_id`. */
  readonly requests: Map<string, Tally>;
  /** Responses by the first digit of their status: `2xx`. */
  readonly responses: Map<string, number>;
};

export function createPrivateCounts(): PrivateCounts {
  return {
    attempts: zeros(ATTEMPT_OUTCOMES, () => 0),
    runs: zeros(RUN_WORKS, () => createTally(REQUEST_SECONDS)),
    shed: zeros(SHED_REASONS, () => 0),
    requests: new Map(),
    responses: new Map(),
  };
}

/** Counts the response to a request of a route. */
export function noteRequest(
  { requests, responses }: PrivateCounts,
  route: string,
  status: number,
  seconds: number,
): void {
  let tally = requests.get(route);
  if (tally === undefined) {
    tally = createTally(REQUEST_SECONDS);
    requests.set(route, tally);
  }
  note(tally, seconds);
  const kind = `${Math.floor(status / 100)}xx`;
  responses.set(kind, (responses.get(kind) ?? 0) + 1);
}

function zeros<K extends string, V>(keys: readonly K[], zero: () => V): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, zero()])) as Record<K, V>;
}
