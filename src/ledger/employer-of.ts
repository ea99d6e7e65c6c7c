/** Whose employee someone is on a day. Pure; the rule of "Who is in a run" (payroll.md) and of the vocabulary's roster. */

/** The newest fact of an employee with one employer. Days are YYYY-MM-DD. */
export type RosterFact = {
  employee_id: string;
  employer_id: string;
  position: number;
  hire_date: string | null;
  termination_date: string | null;
  employment_status: string | null;
  pay_frequency: string | null;
  pay_group: string | null;
  /** 1: the employer's newest census lacks the employee. */
  absent: 0 | 1;
};

type Spell = Pick<RosterFact, 'hire_date' | 'termination_date' | 'absent'>;

/**
 * Whether the employment runs on the day, which includes the day of termination. A termination before the hire
 * date belongs to an earlier spell of someone who was hired again.
 */
export function isActive(row: Spell, day: string): boolean {
  if (row.absent === 1) return false;
  if (row.hire_date !== null && row.hire_date > day) return false;
  if (row.termination_date === null || row.termination_date >= day) return true;
  return row.hire_date !== null && row.hire_date > row.termination_date;
}

/**
 * The employer of one employee on a day, from all rows of the employee: the one where the employee is active; with
 * none, the one of the newest fact. Null without rows, and with several active ones: that is shown, never guessed.
 */
export function employerOf(rows: readonly RosterFact[], day: string): string | null {
  const [active, another] = rows.filter((row) => isActive(row, day));
  if (another !== undefined) return null;
  if (active !== undefined) return active.employer_id;
  const [first, ...others] = rows;
  if (first === undefined) return null;
  return others.reduce((newest, row) => (row.position > newest.position ? row : newest), first).employer_id;
}
