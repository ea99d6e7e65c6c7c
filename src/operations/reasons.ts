import { SYNC_REASONS } from '../census/syncs.ts';
import { DISMISSAL_REASONS } from '../inbox/conflicts.ts';
import { LOSS_REASONS } from '../inbox/data-loss.ts';
import { CANCELLATION_REASONS } from '../outbox/manual.ts';
import { ACCEPTANCE_REASONS } from '../payroll/lifecycle/acceptances.ts';
import { RUN_REASONS } from '../payroll/records/runs.ts';
import { reasonColumnsOf } from '../security/facts.ts';
import type { ReasonColumn } from '../security/reasons.ts';
import { FACTS } from './facts.ts';

/** Every column that repeats the reason of an audit record. */
export const REASON_COLUMNS: readonly ReasonColumn[] = [
  ...FACTS.flatMap(reasonColumnsOf),
  ...DISMISSAL_REASONS,
  LOSS_REASONS,
  SYNC_REASONS,
  CANCELLATION_REASONS,
  ...RUN_REASONS,
  ACCEPTANCE_REASONS,
];
