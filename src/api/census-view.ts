import type { Compared } from '../census/diff.ts';

/** The check of a census, and its comparison with the last upload, as programs see them. */
export function comparedShape({ report, lastUpload, changes }: Compared) {
  const { employees, problemCount, problems } = report;
  return {
    valid: problemCount === 0,
    employees,
    problem_count: problemCount,
    problems,
    last_upload: lastUpload && {
      census_id: lastUpload.censusId,
      uploaded_at: lastUpload.uploadedAt,
      employees: lastUpload.employees,
    },
    changes: changes && {
      added: idsShape(changes.added),
      changed: {
        count: changes.changed.count,
        employees: changes.changed.employees.map(({ employeeId, fields }) => ({
          employee_id: employeeId,
          fields,
        })),
      },
      absent: idsShape(changes.absent),
      unchanged: changes.unchanged,
      organization: changes.organization,
    },
  };
}

function idsShape({ count, employeeIds }: { count: number; employeeIds: string[] }) {
  return { count, employee_ids: employeeIds };
}
