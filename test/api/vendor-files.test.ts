/** Exports as vendors write them are recognized: their columns, values, notes and rows of dependents. */
import t, { type Test } from 'tap';
import { setCodes } from '../support/payroll.ts';
import { start } from './start.ts';

const csv = (...lines: string[]) => lines.join('\r\n');

const CENSUSES = {
  ADP: csv(
    'Associate ID,Legal First Name,Legal Last Name,Birth Date,Gender,Tax ID (SSN),Primary Address: Address Line 1,Primary Address: Address Line 2,Primary Address: City,Primary Address: State / Territory Code,Primary Address: Zip / Postal Code,Personal Contact: Personal Email,Personal Contact: Personal Mobile,Hire Date,Position Status,Worker Category Description,Regular Pay Rate Amount,Regular Pay Rate Description,Regular Pay Effective Date,Standard Hours,Pay Frequency Description,Termination Date,Home Department Description',
    'QK1000001,Ana,Ruiz,04/05/1980,Female,XXX-XX-1234,1 Main St,Apt 2,Boston,MA,02108,ana@example.org,(617) 555-0123,02/03/2020,Active,Full Time,"52,000.00",Salary,01/01/2026,40.00,Bi-Weekly,,North',
  ),
  Paychex: csv(
    'Worker ID,First Name,Last Name,Birth Date,Sex,SSN,Address Line 1,City,State,Zip Code,Email Address,Phone Number,Hire Date,Employment Type,Rate Amount,Rate Type,Rate Effective Date,Standard Weekly Hours,Pay Frequency',
    '1001,Ana,Ruiz,4/5/1980,F,123-45-6789,1 Main St,Boston,MA,2108,ana@example.org,617-555-0123,2/3/2020,Full-Time,25.50,Hourly Rate,1/1/2026,40,Bi-weekly',
    '1002,Bob,Lee,4/6/1981,M,123-45-6788,1 Main St,Boston,MA,2108,bob@example.org,617-555-0124,2/3/2020,Part-Time,"60,000.00",Annual Salary,1/1/2026,20,Bi-weekly',
  ),
  Gusto: csv(
    'Employee ID,Last name,First name,Date of birth,SSN,Home address street,Home address street 2,Home address city,Home address state,Home address zip,Personal email,Start date,Employment type,Compensation,Compensation period,Compensation effective date,Hours per week,Pay schedule,Termination date',
    '1001,Ruiz,Ana,1980-04-05,123-45-6789,1 Main St,,Boston,MA,02108,ana@example.org,2020-02-03,Full time (30+ hours per week),"$52,000.00",Per year,2026-01-01,40,Every other week,',
    '1002,Lee,Bob,1981-04-06,123-45-6788,2 Main St,,Boston,MA,02108,bob@example.org,2020-02-03,Part time (up to 19 hrs),$25.50,Per hour,2026-01-01,18,Every other week,',
  ),
  Paylocity: csv(
    'Employee Id,First Name,Last Name,Birth Date,Sex,SSN,Address 1,Address 2,City,State,Zip,Home Email,Hire Date,Employee Status,Employee Type,Pay Type,Base Rate,Annual Salary,Rate Effective Date,Default Hours,Pay Frequency',
    '1001,Ana,Ruiz,04/05/1980,F,123456789,1 Main St,,Boston,MA,02108,ana@example.org,02/03/2020,A,RFT,Salary,2000.00,"52,000.00",01/01/2026,80,B',
  ),
  Rippling: csv(
    'Employee number,Legal first name,Legal last name,Personal email,Date of birth,Legal sex,Social Security Number,Home address: Street line 1,Home address: City,Home address: State,Home address: Zip code,Start date,Annual compensation,Compensation effective date,Employment type,Weekly hours,Pay schedule frequency',
    '1001,Ana,Ruiz,ana@example.org,04/05/1980,Female,123-45-6789,1 Main St,Boston,Massachusetts,02108,02/03/2020,"USD 52,000.00",01/01/2026,"Salaried, full-time",40,Every two weeks',
  ),
  UKG: csv(
    'Employee Number|First Name|Last Name|Date of Birth|Gender|SSN|Address Line 1|City|State/Province|Zip/Postal Code|Primary Email|Last Hire Date|Full/Part Time|Salary or Hourly|Annual Salary|Scheduled Work Hours|Pay Frequency|Salary Effective Date',
    '001001|Ana|Ruiz|1980-04-05T00:00:00|F|123456789|1 Main St|Boston|MA|02108|ana@example.org|2020-02-03T00:00:00|F|S|52000.0000|40.00|B|2026-01-01T00:00:00',
  ),
  BambooHR: csv(
    'Employee #,First Name,Last Name,Birth Date,SSN,Gender,Address Line 1,City,State,Zip Code,Home Email,Hire Date,Employment Status,Pay rate,Pay type,Pay rate effective date,Paid per,Hours Per Week,Pay schedule',
    '1001,Ana,Ruiz,05 Apr 1980,123-45-6789,Female,1 Main St,Boston,Massachusetts,02108,ana@example.org,2020-02-03,Full-Time,"52,000.00 USD",Salary,2026-01-01,Year,40,Every other week',
  ),
  Ease: csv(
    'EE ID,Relationship,First Name,Last Name,DOB,Gender,SSN,Address 1,City,State,ZIP,Email,Hire Date,Status,Hours,Compensation,Compensation Type,Comp Effective Date,Pay Cycle',
    '1001,Employee,Ana,Ruiz,4/5/1980,F,123-45-6789,1 Main St,Boston,MA,02108,ana@example.org,2/3/2020,Full-time,40,52000,Annually,1/1/2026,Bi-Weekly',
    '1001,Spouse,Max,Ruiz,4/5/1981,M,123-45-6780,1 Main St,Boston,MA,02108,,,,,,,,',
    '1001,Child,Kim,Ruiz,4/5/2012,F,123-45-6781,1 Main St,Boston,MA,02108,,,,,,,,',
  ),
};

async function proposing(t: Test) {
  const running = await start(t);
  const propose = async (kind: string, body: string) => {
    const url = `/v1/employers/acme/file-formats/${kind}/propose`;
    return (await running.call({ method: 'POST', url, headers: { 'content-type': 'text/csv' }, body })).json;
  };
  return { ...running, propose };
}

type Column = { header: string; field: string | null };
const fieldsIn = ({ format }: { format: { columns: Column[] } }) =>
  Object.fromEntries(format.columns.map(({ header, field }) => [header, field]));

t.test('the census export of each vendor is read without problems', async (t) => {
  const { propose } = await proposing(t);
  for (const [vendor, file] of Object.entries(CENSUSES))
    t.match(await propose('census', file), { problems: [], valid: true }, vendor);
  const { format, repairs } = await propose('census', CENSUSES.Ease);
  t.equal(repairs.rows, 1);
  t.strictSame(format.leave_out, [
    { header: 'Relationship', values: ['Spouse', 'Child'], reason: 'Dependents' },
  ]);
});

t.test('a column of whole names is a problem that names the column', async (t) => {
  const { propose } = await proposing(t);
  const { problems } = await propose(
    'census',
    csv('Employee ID,Employee Name,DOB', '1001,"Ruiz, Ana",4/5/1980'),
  );
  t.match(problems[0], { path: 'first_name', rule: /"Employee Name" has whole names/ });
});

t.test('a list of deductions has levels, periods and notes', async (t) => {
  const { propose, db } = await proposing(t);
  const perPay = await propose(
    'deductions',
    csv(
      'Employee ID,Last Name,First Name,Plan Type,Plan Name,Coverage Level,EE Cost Per Pay Period,ER Cost Per Pay Period,Pre-Tax/Post-Tax,Effective Date,Termination Date,Payroll Frequency',
      '1001,Ruiz,Ana,Medical,Blue Gold PPO,Employee Only,$69.23,$161.54,Pre-Tax,1/1/2026,,Bi-Weekly',
      '1001,Ruiz,Ana,Voluntary Life,Metlife,Employee + Spouse,$5.00,$0.00,Post-Tax,1/1/2026,,Bi-Weekly',
      '1001,Ruiz,Ana,Health Care FSA,WEX,,$20.00,$0.00,Pre-Tax,1/1/2026,,Bi-Weekly',
      '1001,Ruiz,Ana,AD&D,Metlife,Family,$2.00,$0.00,Post-Tax,1/1/2026,,Bi-Weekly',
      '1001,Ruiz,Ana,Critical Illness,Aflac,Employee + Child(ren),$2.00,$0.00,Post-Tax,1/1/2026,,Bi-Weekly',
    ),
  );
  t.match(perPay.problems, [{ path: 'period' }], 'only a person knows what a pay period is');
  t.match(fieldsIn(perPay), {
    'EE Cost Per Pay Period': 'member_contribution',
    'Coverage Level': 'coverage_type',
  });
  const monthly = await propose(
    'deductions',
    csv(
      'EE ID,First,Last,Benefit,Carrier,Tier,Employee Cost (Monthly),Employee Cost (Per Pay),Employer Cost (Monthly),Employer Cost (Per Pay),Tax Status',
      '1001,Ana,Ruiz,Medical,Blue,EE+Family,150.00,69.23,350.00,161.54,Pre-tax',
      '1001,Ana,Ruiz,Dental,Delta,EE Only,20.00,9.23,0.00,0.00,Pre-tax',
    ),
  );
  t.match(monthly, { valid: true, format: { constants: { period: 'monthly' } } });
  t.match(fieldsIn(monthly), {
    'Employee Cost (Monthly)': 'member_contribution',
    'Employee Cost (Per Pay)': null,
    'Employer Cost (Monthly)': 'employer_contribution',
  });
  const medical = { line_of_coverage: 'medical', taxability: 'pre_tax', treatment: null } as const;
  await setCodes(db, [{ ...medical, side: 'employee', code: 'MED-EE' }]);
  const { format, repairs } = await propose(
    'deductions',
    csv(
      'Associate ID,Deduction Code,Deduction Amount,Frequency',
      '1001,MED-EE,69.23,Weekly',
      'Records: 1,,,',
    ),
  );
  t.equal(repairs.rows, 1);
  t.strictSame(format.leave_out, [{ header: 'Associate ID', values: ['Records:*'], reason: 'Notes' }]);
});

t.test('the columns are found if only one has a known name, and so are the rows below them', async (t) => {
  const { propose } = await proposing(t);
  const rows = Array.from({ length: 30 }, (_, row) => `${1001 + row},69.23,9.23`);
  const { format, repairs } = await propose('deductions', csv('Emp ID,Medical Plan,Dental Plan', ...rows));
  t.match({ columns: format.columns.length, rows: repairs.rows }, { columns: 3, rows: 30 });
});
