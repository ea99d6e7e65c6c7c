/** Deductions and their versions as the API and the command line show them. */
import Type from 'typebox';
import type { Deduction } from '../contract/deduction.ts';
import { cursorOf } from '../formats/cursor.ts';
import type { DeductionState } from './deductions.ts';
import type { Replacement } from './placeholders.ts';

export type DeductionView = ReturnType<typeof viewDeduction>;
export type VersionView = ReturnType<typeof viewVersion>;

export const deductionCursor = cursorOf(
  'deductions',
  Type.Object({ employeeId: Type.String(), deductionId: Type.String() }),
);

export function viewDeduction({ version, employerId, matched, placeholder }: DeductionState) {
  const { coverage_type, description, effective_start, effective_end } = version;
  return {
    id: version.deduction_id,
    employee_id: version.employee_id,
    line_of_coverage: version.line_of_coverage as Deduction['line_of_coverage'],
    member_contribution: version.member_contribution,
    employer_contribution: version.employer_contribution,
    period: version.period as Deduction['period'],
    taxability: version.taxability as Deduction['taxability'],
    ...(coverage_type !== null && {
      coverage_type: coverage_type as NonNullable<Deduction['coverage_type']>,
    }),
    ...(description !== null && { description }),
    ...(effective_start !== null && { effective_start }),
    ...(effective_end !== null && { effective_end }),
    employer_id: employerId,
    matched,
    placeholder: placeholder === null ? null : viewReplacement(placeholder.replacement),
    version: version.version,
    position: version.position,
    event_time: version.event_time,
    recorded_at: version.recorded_at,
  };
}

function viewReplacement(replacement: Replacement | null) {
  return { replaced_by: replacement?.deduction_id ?? null, replaced_from: replacement?.from ?? null };
}

/** Returns a version. Its position in the ledger is its id. */
export function viewVersion(state: DeductionState) {
  const { deduction_id, position, event_id, ordered_by, late } = state.version;
  return {
    ...viewDeduction(state),
    id: String(position),
    deduction_id,
    event_id,
    ordered_by,
    late: late === 1,
  };
}
