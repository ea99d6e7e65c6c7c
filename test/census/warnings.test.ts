import t from 'tap';
import { createWarnings } from '../../src/census/warnings.ts';
import { type Employee, US_STATES } from '../../src/contract/employee.ts';
import { isZipOf } from '../../src/contract/zip-prefixes.ts';
import { employee as sample } from '../contract/samples.ts';

const employee = sample as Employee;
const TODAY = '2026-11-26';
const [rate] = employee.pay_rate as [Employee['pay_rate'][number]];
const paid = (fields: Partial<typeof rate>): Partial<Employee> => ({ pay_rate: [{ ...rate, ...fields }] });
const living = (fields: Partial<Employee['address']>): Partial<Employee> => ({
  address: { ...employee.address, ...fields },
});
const BOSTON = { city: 'Boston', state: 'MA', zip_code: '02108' } as const;

function warningsOf(...employees: Employee[]): string[] {
  const warnings = createWarnings(TODAY);
  for (const [row, each] of employees.entries()) warnings.note(row, each);
  const { warning_count, warnings: named } = warnings.view();
  t.equal(warning_count, named.length);
  return named.map(({ path, rule }) => `${path} ${rule}`);
}

const CASES: readonly (readonly [fields: Partial<Employee>, warning: RegExp | null])[] = [
  ...['12-34-567', '1.23E+07', 'on file', '0123456789', '12345678'].map(
    (ssn) => [{ ssn }, /^employees\[0\]\.ssn does not have nine digits/] as const,
  ),
  [{ ssn: '000-00-0000' }, /^employees\[0\]\.ssn is all zeros\. Correct it, or leave it empty/],
  [{ ssn: '999-99-9999' }, /^employees\[0\]\.ssn is one digit nine times\. Correct it/],
  ...['012345678', '012-34-5678', '012 34 5678'].map((ssn) => [{ ssn }, null] as const),
  [
    { dob: '2021-01-01', hire_date: '2020-02-03', ...paid({ effective_start: '2022-01-01' }) },
    /dob is after the hire date$/,
  ],
  [{ employee_id: 'e-1 ' }, /employee_id begins or ends with a blank$/],
  [
    { dob: '2026-11-27', hire_date: '2026-12-01', ...paid({ effective_start: '2026-12-01' }) },
    /dob is after today$/,
  ],
  [{ dob: '1899-12-31' }, /dob is not after 1900-01-01/],
  [{ dob: '1900-01-01' }, /dob is not after 1900-01-01/],
  [{ dob: '1900-01-02' }, null],
  [{ dob: '1915-01-01', hire_date: '1939-12-31' }, /hire_date is before 1940$/],
  [{ hire_date: '2028-11-26' }, null],
  [{ hire_date: '2028-11-27' }, /hire_date is more than 2 years ahead$/],
  [{ termination_date: '2020-01-01' }, /termination_date is before the hire date$/],
  [{ termination_date: '9999-12-31' }, /termination_date is more than 2 years ahead$/],
  ...['5550123', 'N/A'].map(
    (phone_number) => [{ phone_number }, /phone_number does not have ten digits$/] as const,
  ),
  [{ first_name: ' ' }, /first_name is empty$/],
  [{ last_name: '#REF!' }, /last_name is an error of a spreadsheet$/],
  [{ job_title: '=A1&B1' }, /job_title is a formula of a spreadsheet$/],
  ...['Zo\uFFFD', 'ZoÃ«', 'Oâ€™Neil'].map(
    (first_name) => [{ first_name }, /first_name has characters that a conversion broke/] as const,
  ),
  ...['Zoë', 'O’Neil', 'ÃÂ'].map((first_name) => [{ first_name }, null] as const),
  [{ employee_id: '1.23457E+11' }, /employee_id is a number that a spreadsheet shortened/],
  [{ employee_id: '15.0' }, /employee_id is a number with decimals/],
  [{ employee_id: "'0012" }, /employee_id begins with the apostrophe/],
  [living({ line1: '#N/A' }), /address\.line1 is an error of a spreadsheet$/],
  [{ hours_worked: '0' }, /hours_worked is 0 or less$/],
  [{ hours_worked: '-40' }, /hours_worked is 0 or less$/],
  [{ hours_worked: '168.5' }, /hours_worked is above the 168 hours of a week$/],
  [{ hours_worked: 'forty' }, /hours_worked is not a number of hours$/],
  ...['70', '86.67', '168'].map(
    (hours_worked) => [{ hours_worked }, /hours_worked is 70 or more\. Is it the hours of two/] as const,
  ),
  ...['69.5', '0.5', '37.5'].map((hours_worked) => [{ hours_worked }, null] as const),
  [paid({ period: 'hourly', amount: '1000.01' }), /pay_rate\[0\]\.amount is above 1,000 an hour/],
  [paid({ period: 'hourly', amount: '1000' }), null],
  [paid({ period: 'hourly', amount: '0.99' }), /amount is below 1\.00 an hour\. Does another column/],
  [paid({ period: 'hourly', amount: '1.00' }), null],
  [paid({ period: 'annually', amount: '999.99' }), /pay_rate\[0\]\.amount is below 1,000 a year/],
  ...['1000.00', '9999.99'].map(
    (amount) => [paid({ period: 'annually', amount }), /amount is below 10,000 a year\. Is it/] as const,
  ),
  [paid({ period: 'annually', amount: '10000' }), null],
  [{ employment_status: 'part_time', ...paid({ period: 'annually', amount: '1000.00' }) }, null],
  [paid({ effective_start: '1950-01-01' }), /pay_rate\[0\]\.effective_start is before the birth$/],
  [living({ ...BOSTON, state: 'TX' }), /address\.state is not the state of the ZIP code$/],
  [living({ ...BOSTON, zip_code: '2108' }), /address\.zip_code does not have five digits. A spreadsheet/],
  [living({ ...BOSTON, zip_code: 'none' }), /address\.zip_code does not have five digits$/],
  [living({ ...BOSTON, zip_code: '02108-1234' }), null],
];

t.test('a value that the contract allows and nobody means is a warning without the value', (t) => {
  t.strictSame(warningsOf(employee), [], 'the sample has none');
  for (const [fields, warning] of CASES) {
    const found = warningsOf({ ...employee, ...fields });
    t.match(found, warning === null ? [] : [warning], JSON.stringify(fields));
    const value = fields.ssn ?? fields.hours_worked;
    if (value !== undefined && value.length > 2) t.notMatch(found.join(), value);
  }
  t.end();
});

t.test('an SSN of two employees and ids that differ only by zeros, blanks or case name both rows', (t) => {
  const people = [
    { employee_id: '00123', ssn: '123-45-6789' },
    { employee_id: '123', ssn: '123456789' },
    { employee_id: 'e-1', ssn: '012-34-5678' },
    { employee_id: 'E-1', ssn: '987-65-4321' },
    { employee_id: '0', ssn: '987-65-4320' },
    // Refused as the same row twice.
    { employee_id: '0', ssn: '987-65-4320' },
  ];
  const near = 'only by zeros at its front, blanks, case or width';
  t.strictSame(warningsOf(...people.map((fields) => ({ ...employee, ...fields }))), [
    `employees[1].employee_id differs from employees[0].employee_id ${near}`,
    'employees[1].ssn is the same as employees[0].ssn',
    `employees[3].employee_id differs from employees[2].employee_id ${near}`,
  ]);
  t.end();
});

t.test('each state has its ZIP codes, and no other has them except at a border', (t) => {
  const samples = {
    ...{ AL: '35203', AK: '99501', AZ: '85004', AR: '72201', CA: '90012', CO: '80202', CT: '06103' },
    ...{ DE: '19901', DC: '20001', FL: '33131', GA: '30303', HI: '96813', ID: '83702', IL: '60601' },
    ...{ IN: '46204', IA: '50309', KS: '66603', KY: '40202', LA: '70112', ME: '04101', MD: '21201' },
    ...{ MA: '02108', MI: '48226', MN: '55401', MS: '39201', MO: '63101', MT: '59601', NE: '68508' },
    ...{ NV: '89101', NH: '03101', NJ: '07102', NM: '87501', NY: '10001', NC: '28202', ND: '58501' },
    ...{ OH: '43215', OK: '73102', OR: '97201', PA: '19103', RI: '02903', SC: '29201', SD: '57501' },
    ...{ TN: '37201', TX: '78701', UT: '84101', VT: '05401', VA: '23219', WA: '98101', WV: '25301' },
    ...{ WI: '53202', WY: '82001' },
  };
  t.equal(Object.keys(samples).length, US_STATES.length);
  for (const [state, zip] of Object.entries(samples)) {
    t.strictSame(
      US_STATES.filter((each) => isZipOf(each, zip)),
      [state],
      zip,
    );
  }
  // A second state on a prefix, or far from the others of its state.
  for (const [state, zip] of [
    ['NY', '00501'],
    ['NY', '06390'],
    ['TX', '73301'],
    ['TX', '88510'],
    ['MA', '05501'],
  ] as const)
    t.ok(isZipOf(state, zip), zip);
  t.end();
});
