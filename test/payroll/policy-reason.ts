/** Bodies of runs for tests that do not concern the payroll policy. */
import type { RunBody } from '../../src/payroll/runs/body.ts';
import { OPTIONS } from '../../src/payroll/settings/policy.ts';

/** Adds a reason to fields that set an option. */
export function withReason<Fields extends Partial<RunBody>>(fields: Fields): Fields {
  return OPTIONS.some((name) => name in fields) ? { policy_reason: 'for a test', ...fields } : fields;
}
