import { SYNC_REASONS } from '../census/syncs.ts';
import { DISMISSAL_REASONS } from '../inbox/conflicts.ts';
import { LOSS_REASONS } from '../inbox/data-loss.ts';
import { ASSIGNMENT_REASONS } from '../ledger/assignments.ts';
import { CANCELLATION_REASONS } from '../outbox/manual.ts';
import { DECISION_REASONS } from '../payroll/facts/decisions.ts';
import { OVERRIDE_REASONS } from '../payroll/facts/overrides.ts';
import { ACCEPTANCE_REASONS } from '../payroll/lifecycle/acceptances.ts';
import { RUN_REASONS } from '../payroll/records/runs.ts';
import type { ReasonColumn } from '../security/reasons.ts';

/** Every column that repeats the reason of an audit record. */
export const REASON_COLUMNS: readonly ReasonColumn[] = [
  ASSIGNMENT_REASONS,
  ...DISMISSAL_REASONS,
  LOSS_REASONS,
  SYNC_REASONS,
  CANCELLATION_REASONS,
  ...RUN_REASONS,
  ACCEPTANCE_REASONS,
  DECISION_REASONS,
  OVERRIDE_REASONS,
];
