/** The bodies that the recordings send. Every date is in 2024, so that nothing depends on the day of the test. */
import { readFileSync } from 'node:fs';

const CENSUSES = new URL('../../fixtures/census/json/', import.meta.url);

type Employee = { employee_id: string; [field: string]: unknown };
type Census = { organization: object; employees: Employee[] };

/** A census of the fixtures whose facts apply from the first day of 2024. */
export function census(employerId: string): Census {
  const read = JSON.parse(readFileSync(new URL(`${employerId}.json`, CENSUSES), 'utf8')) as Census;
  return { ...read, employees: read.employees.map((one) => ({ ...one, effective_on: '2024-01-01' })) };
}

type Deduction = Record<string, unknown>;

export function deductionEvent(createdAt: string | null, id: string, fields: Deduction): object {
  return {
    id: `evt_${id}`,
    event_type: 'employee.deduction-updated',
    data: { id, period: 'monthly', taxability: 'pre_tax', ...fields },
    ...(createdAt !== null && { created_at: createdAt }),
  };
}

export const plain = (employee_id: string, line_of_coverage: string, member: string, employer = '0.00') => ({
  ...{ employee_id, line_of_coverage, member_contribution: member, employer_contribution: employer },
  effective_start: '2024-07-01',
});

export const medical = (member: string, employer: string) => {
  const { employee_id, line_of_coverage, ...rest } = plain('maple-bakery-001', 'medical', member, employer);
  const plan = { coverage_type: 'member_family', description: 'Silver PPO 3000' };
  return { employee_id, line_of_coverage, ...plan, ...rest };
};

const HIRED = {
  ...{ first_name: 'Ines', last_name: 'Ruiz', dob: '1994-02-28', email: 'ines@example.org' },
  address: { line1: '4 Mill Lane', city: 'Albany', state: 'NY', zip_code: '12207' },
  ...{
    hire_date: '2024-07-08',
    hours_worked: '40',
    employment_status: 'full_time',
    pay_frequency: 'monthly',
  },
  pay_rate: [{ amount: '25.50', period: 'hourly', effective_start: '2024-07-08' }],
};

export const hire = (employee_id: string) => ({
  ...{ employee_id, employer_id: 'maple-bakery', ...HIRED, effective_on: '2024-07-08' },
});

/** The twelve months of 2024, each paid on its last day. */
const monthDates = Array.from({ length: 12 }, (_, month) => {
  const [first = '', last = ''] = [Date.UTC(2024, month, 1), Date.UTC(2024, month + 1, 0)].map((day) =>
    new Date(day).toISOString().slice(0, 10),
  );
  return { pay_date: last, period_start: first, period_end: last };
});
export const monthlySchedule = { schedules: [{ pay_frequency: 'monthly', pay_dates: monthDates }] };

export const codes = {
  codes: [
    { line_of_coverage: 'medical', side: 'employee', code: 'MED1' },
    { line_of_coverage: 'medical', side: 'employer', code: 'MED9', treatment: 'deposit' },
    { line_of_coverage: 'dental', taxability: 'pre_tax', side: 'employee', code: 'DEN1' },
  ],
};

export const monthlyRun = (month: '07' | '08') => ({
  ...{ employer_id: 'maple-bakery', pay_frequency: 'monthly', period_start: `2024-${month}-01` },
  ...{ period_end: `2024-${month}-31`, pay_date: `2024-${month}-31` },
});
