/** What the computation of a run notes for its readiness checks. */
import type { UNCLEAR } from './population.ts';

/** Flags of open items whose findings state amounts. */
export const ITEM_FLAGS = ['missed_check', 'retro_pre_tax', 'retro_refund'] as const;

/** A finding of a readiness check in the computation. */
export type Note =
  | (typeof ITEM_FLAGS)[number]
  | (typeof UNCLEAR)[number]
  | 'absent_from_census'
  | 'beyond_year'
  /** Pre-tax items that only a run of their own tax year takes. */
  | 'bound_to_year'
  | 'code_missing'
  | 'coverage_beyond_last_check'
  | 'final_check_empty'
  /** Deductions that end on the run's day, on which it takes them. */
  | 'ends_on_day'
  | 'first_month_ahead'
  | 'frequency_moved'
  | 'negative_total'
  | 'not_scheduled'
  | 'off_cycle_adds'
  | 'one_day_window'
  | 'open_after_termination'
  /** Two elections of a line of coverage that nearly always is elected once. */
  | 'overlap'
  /** Two elections of a line of coverage for which several are normal. */
  | 'overlap_normal'
  | 'override_outdated'
  | 'paid_after_termination'
  /** Refunds that are more than the paycheck takes. */
  | 'refund_waits'
  /** Renewals that begin after the run's day. */
  | 'renewal_ahead'
  | 'renewal_erased'
  | 'start_corrected'
  | 'start_moved'
  | 'termination_contradicted'
  /** The last pay date at the employer that an employee left is unknown. */
  | 'transfer_unknown'
  /** A deduction in effect that no run takes, because its employee has or had two employers. */
  | 'unassigned';

/** `ids`: the versions, deductions or dates that the finding rests on; while they are the same, so is the finding. */
export type Noted = { example: string; employeeId: string | null; ids: readonly string[] };

/** Without an example, the employee is it. */
export type TakeNote = (
  what: Note,
  employeeId: string | null,
  ids?: readonly string[],
  example?: string,
) => void;
