/** Whether an employer's flow of the benefits service may be rendered: from then on, census requests come at any time. */
import Type, { type Static } from 'typebox';
import { currentCensus, isFresh, wasFetched } from '../census/staged.ts';
import { heldCensuses } from '../census/sync-list.ts';
import { component, text } from '../contract/fields.ts';
import type { Db } from '../database/tables.ts';
import { readEventAge } from '../inbox/arrivals.ts';
import { readCircuitBreaker } from '../outbox/circuit-breaker.ts';
import { isSendingOff } from '../outbox/pilot.ts';
import { isKnownEmployer } from '../payroll/lifecycle/employers.ts';

/** What keeps a flow from being ready, in the order in which it is fixed. */
const FLOW_CODES = [
  'employer-unknown',
  'no-event-yet',
  'no-census',
  'sending-off',
  'circuit-breaker-paused',
  'clock',
] as const;

export const FlowReason = component(
  'FlowReason',
  {
    code: Type.Enum([...FLOW_CODES], {
      description:
        '`employer-unknown`: nothing is known of the employer. `no-event-yet`: no signed event of the service was verified in this environment. `no-census`: its census is missing, too old or held. `sending-off`: a pilot. `circuit-breaker-paused`: the service rejects the address or the API key. `clock`: the clock may be wrong.',
    }),
    message: text('What is missing, and what to do.'),
  },
  'Why the flow must not be rendered yet.',
);
export type FlowReason = Static<typeof FlowReason>;

type FlowQuestion = {
  employerId: string;
  now: Date;
  clockWarning: string | null;
  /** CENSUS_MAX_AGE. */
  maxAgeMs: number;
  /** Whether a source has the censuses; otherwise payroll stages them. */
  hasSource: boolean;
};

/** Returns all reasons against the flow; none if it may be rendered. */
export async function flowReasons(db: Db, question: FlowQuestion): Promise<FlowReason[]> {
  const { employerId, clockWarning } = question;
  const isKnown = await isKnownEmployer(db, employerId);
  const breaker = await readCircuitBreaker(db);
  const messages: Record<FlowReason['code'], string | null> = {
    'employer-unknown': isKnown
      ? null
      : 'Nothing is known of this employer. Check the ID, and stage its census.',
    'no-event-yet': (await readEventAge(db)).hasEvents
      ? null
      : "No signed event has arrived in this environment. Add the endpoint in the provider's portal, and send its test event.",
    'no-census': isKnown ? await whyNoCensus(db, question) : null,
    'sending-off': (await isSendingOff(db))
      ? 'Sending is off: this is a pilot. End it with "benefits-sidecar sending on".'
      : null,
    'circuit-breaker-paused':
      breaker.state === 'active'
        ? null
        : 'Sending is paused, because the service rejects the address or the API key. Correct BENEFITS_BASE_URL or BENEFITS_API_KEY.',
    clock:
      clockWarning === null
        ? null
        : `The clock of the sidecar may be wrong (${clockWarning}). Synchronize it with a time server.`,
  };
  return FLOW_CODES.flatMap((code) => {
    const message = messages[code];
    return message === null ? [] : [{ code, message }];
  });
}

/** A source that returned a census of this employer once will return the newest. */
async function whyNoCensus(
  db: Db,
  { employerId, now, maxAgeMs, hasSource }: FlowQuestion,
): Promise<string | null> {
  if ((await heldCensuses(db, employerId)).length > 0)
    return 'The census is held. Release it, or stage the right one.';
  const census = await currentCensus(db, employerId);
  if (census !== null && isFresh(census, now, maxAgeMs)) return null;
  if (hasSource) {
    return (await wasFetched(db, employerId))
      ? null
      : 'The census source has returned no census of this employer yet. Request a census sync, which fetches it.';
  }
  return census === null
    ? 'No census of this employer is staged. Stage it.'
    : `The staged census is older than CENSUS_MAX_AGE: it was staged at ${census.staged_at}. Stage a new one.`;
}
