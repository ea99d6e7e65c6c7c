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

export const medical = (member: string, employer: string, start = '2024-07-01') => ({
  employee_id: 'maple-bakery-001',
  line_of_coverage: 'medical',
  coverage_type: 'member_family',
  description: 'Silver PPO 3000',
  member_contribution: member,
  employer_contribution: employer,
  effective_start: start,
});

export const plain = (employee: string, line: string, member: string, employer = '0.00') => ({
  employee_id: employee,
  line_of_coverage: line,
  member_contribution: member,
  employer_contribution: employer,
  effective_start: '2024-07-01',
});

const HIRED = {
  first_name: 'Ines',
  last_name: 'Ruiz',
  dob: '1994-02-28',
  email: 'ines@example.org',
  address: { line1: '4 Mill Lane', city: 'Albany', state: 'NY', zip_code: '12207' },
  hire_date: '2024-07-08',
  hours_worked: '40',
  employment_status: 'full_time',
  pay_frequency: 'monthly',
  pay_rate: [{ amount: '25.50', period: 'hourly', effective_start: '2024-07-08' }],
};

export const hire = (employeeId: string) => ({
  employee_id: employeeId,
  employer_id: 'maple-bakery',
  ...HIRED,
  effective_on: '2024-07-08',
});

/** The twelve months of 2024, each paid on its last day. */
export const monthlySchedule = {
  schedules: [
    {
      pay_frequency: 'monthly',
      pay_dates: Array.from({ length: 12 }, (_, month) => {
        const day = (date: number) => new Date(Date.UTC(2024, date === 0 ? month + 1 : month, date));
        const [first, last] = [day(1), day(0)].map((date) => date.toISOString().slice(0, 10));
        return { pay_date: last, period_start: first, period_end: last };
      }),
    },
  ],
};

export const codes = {
  codes: [
    { line_of_coverage: 'medical', side: 'employee', code: 'MED1' },
    { line_of_coverage: 'medical', side: 'employer', code: 'MED9', treatment: 'deposit' },
    { line_of_coverage: 'dental', taxability: 'pre_tax', side: 'employee', code: 'DEN1' },
  ],
};

export const monthlyRun = (month: '07' | '08') => ({
  employer_id: 'maple-bakery',
  pay_frequency: 'monthly',
  period_start: `2024-${month}-01`,
  period_end: `2024-${month}-31`,
  pay_date: `2024-${month}-31`,
});
