/**
 * A subject is whose order requests keep: an employer's census uploads, or an employee's changes. Both kinds of id
 * are payroll's own and may be equal, so a subject says which it is.
 */

const EMPLOYER = 'employer:';
const EMPLOYEE = 'employee:';

export function employerSubject(employerId: string): string {
  return EMPLOYER + employerId;
}

export function employeeSubject(employeeId: string): string {
  return EMPLOYEE + employeeId;
}

/** The id of the employer or employee that a subject names. */
export function idOf(subject: string): string {
  return subject.slice(subject.indexOf(':') + 1);
}
