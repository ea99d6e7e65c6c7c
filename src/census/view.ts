/** Checks and syncs of censuses as the API and the command line show them. */
import type { Problem } from '../errors.ts';
import type { Compared } from './diff.ts';
import type { CensusSync } from './sync-list.ts';

/** The result of a check. */
export type Findings = { employees: number; problemCount: number; problems: readonly Problem[] };

/** Returns the result of a check: paths of fields and rules, no values. */
export function viewFindings({ employees, problemCount, problems }: Findings) {
  return { valid: problemCount === 0, employees, problem_count: problemCount, problems: [...problems] };
}

/** Returns the result of a check and the comparison with the last upload. */
export function viewComparison({ report, lastUpload, changes }: Compared) {
  return {
    ...viewFindings(report),
    last_upload: lastUpload && {
      census_id: lastUpload.censusId,
      uploaded_at: lastUpload.uploadedAt,
      employees: lastUpload.employees,
    },
    changes: changes && {
      added: viewIds(changes.added),
      changed: {
        count: changes.changed.count,
        employees: changes.changed.employees.map(({ employeeId, fields }) => ({
          employee_id: employeeId,
          fields,
        })),
      },
      absent: viewIds(changes.absent),
      unchanged: changes.unchanged,
      organization: changes.organization,
    },
  };
}

function viewIds({ count, employeeIds }: { count: number; employeeIds: string[] }) {
  return { count, employee_ids: employeeIds };
}

/** Returns a sync without the id of its request in the outbox. */
export function viewSync({ request_id: _, ...sync }: CensusSync) {
  return sync;
}
