/** Every recorded fact, for verification and for the erasure of reasons. */
import { ASSIGNMENT } from '../ledger/assignments.ts';
import { DECISION } from '../payroll/facts/decisions.ts';
import { OPENING } from '../payroll/facts/opening-items.ts';
import { OVERRIDE } from '../payroll/facts/overrides.ts';
import { APPROVAL } from '../payroll/records/approvals.ts';
import { APPROVAL_SETTING } from '../payroll/settings/approval.ts';
import { CODES_VERSION } from '../payroll/settings/codes.ts';
import { FILE_FORMAT_VERSION } from '../payroll/settings/file-formats.ts';
import { POLICY_VERSION } from '../payroll/settings/policy.ts';
import { SCHEDULES_VERSION } from '../payroll/settings/schedules.ts';
import type { AnyFact, Fact, FactTable } from '../security/facts.ts';
import { STORED_TOKEN } from '../security/tokens.ts';

const BY_TABLE: { readonly [T in FactTable]: Fact<T> } = {
  deduction_assignments: ASSIGNMENT,
  pay_schedules: SCHEDULES_VERSION,
  payroll_codes: CODES_VERSION,
  payroll_policies: POLICY_VERSION,
  file_formats: FILE_FORMAT_VERSION,
  run_overrides: OVERRIDE,
  opening_items: OPENING,
  item_decisions: DECISION,
  run_approvals: APPROVAL,
  approval_settings: APPROVAL_SETTING,
  tokens: STORED_TOKEN,
};

export const FACTS: readonly AnyFact[] = Object.values(BY_TABLE);
