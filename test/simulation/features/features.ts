/**
 * The features of a simulated world. To simulate another one, write one file like `events.ts` and add it to the list: `plan`
 * puts its actions on the agenda, `invariants` are checked at quiet points and `rests` in the end, and each of its
 * `situations` must occur in some seed of every campaign.
 */
import type { Applied } from '../service.ts';
import type { Simulation } from '../simulation.ts';
import { ACCEPTANCES } from './acceptances.ts';
import { APPROVALS } from './approvals.ts';
import { BORDERS } from './borders.ts';
import { CENSUSES } from './censuses.ts';
import { CHANGES } from './changes.ts';
import { DECISIONS_ABOUT_ITEMS } from './decisions.ts';
import { ERASURES } from './erasures.ts';
import { EVENTS } from './events.ts';
import { FINAL_CHECKS } from './final-checks.ts';
import { MOVES } from './moves.ts';
import { NAMES } from './names.ts';
import { NOTIFICATIONS } from './notifications.ts';
import { OFF_CYCLE_RUNS } from './off-cycle.ts';
import { OPENING_ITEMS } from './opening-items.ts';
import { OPERATORS } from './operators.ts';
import { PAYROLL } from './payroll.ts';
import { PEOPLE } from './people.ts';
import { PILOT } from './pilot.ts';
import { PLACEHOLDERS } from './placeholders.ts';
import { REVIEWS } from './reviews.ts';
import { SCHEDULES } from './schedules.ts';

/** By name, a query whose rows break the invariant, or a function that returns sentences. docs/internals/promises.md lists them. */
export type Invariants = Readonly<
  Record<string, string | ((simulation: Simulation) => readonly string[] | Promise<readonly string[]>)>
>;

export type Feature = {
  plan(simulation: Simulation): void;
  /** Called when the service receives a request. */
  onReceived?(simulation: Simulation, requestId: string): void;
  /** Called when the service has applied a request. */
  onApplied?(simulation: Simulation, applied: Applied): void;
  /** Called when a second sidecar starts, the service has trouble or threads lose messages: makes work that meets the fault. */
  rush?(simulation: Simulation): void;
  /** Called after the last fault: an operator settles what waits for one. */
  atRest?(simulation: Simulation): void;
  invariants?: Invariants;
  /** Checked two hours after the last fault. */
  rests?: Invariants;
  /** The text after `select 1 from` in the query of each situation; null: the feature notes it. */
  situations?: Readonly<Record<string, string | null>>;
};

export const FEATURES: readonly Feature[] = [
  ...[EVENTS, CENSUSES, CHANGES, MOVES],
  ...[PEOPLE, APPROVALS, PAYROLL, SCHEDULES, FINAL_CHECKS],
  ...[OFF_CYCLE_RUNS, OPENING_ITEMS, DECISIONS_ABOUT_ITEMS, BORDERS, OPERATORS],
  ...[PILOT, PLACEHOLDERS, ERASURES, NOTIFICATIONS, NAMES, REVIEWS, ACCEPTANCES],
];
