// One minimal valid body of each resource. The tests add and change fields.

export const address = { line1: '1 Main Street', city: 'Albany', state: 'NY', zip_code: '12207' };

export const contact = { first_name: 'Ada', last_name: 'Byron', email: 'ada@example.com' };

export const organization = { legal_business_name: 'Acme', fein: '12-3456789', contact, address };

export const payRate = { amount: '25.50', period: 'hourly', effective_start: '2025-01-01' };

export const employee = {
  employee_id: 'emp-1',
  first_name: 'Grace',
  last_name: 'Murray',
  dob: '1990-12-09',
  address,
  hire_date: '2020-02-29',
  email: 'grace@example.org',
  hours_worked: '40',
  pay_rate: [payRate],
  employment_status: 'full_time',
};

export const census = { organization, employees: [employee] };

export const newHire = { ...employee, employer_id: 'employer-1' };

export const termination = { employee_id: 'emp-1', termination_date: '2026-03-31' };

export const demographic = { employee_id: 'emp-1', address };

export const compensationChange = { employee_id: 'emp-1', pay_frequency: 'monthly' };

export const deduction = {
  id: 'ded-1',
  employee_id: 'emp-1',
  line_of_coverage: 'medical',
  member_contribution: '150.00',
  employer_contribution: '350',
  period: 'monthly',
  taxability: 'pre_tax',
};

export const envelope = { event_type: 'employee.deduction-updated', data: deduction };

export const syncData = { employer_id: 'employer-1' };
