import { type Census, ENTITY_TYPES, type Organization } from '../contract/census.ts';
import { type Address, type Employee, PAY_FREQUENCIES } from '../contract/employee.ts';
import { between, pick, type Random, seededRandom } from './random.ts';

/** The employers of the benefits service, each with the census that its payroll system would upload. */
export type World = ReadonlyMap<string, Census>;

export const DEFAULT_SEED = 1;
export const DEFAULT_EMPLOYER_IDS: readonly string[] = ['maple-bakery', 'harbor-clinic'];
const DEFAULT_EMPLOYEES_EACH = 5;

export function makeWorld(
  seed: number,
  employerIds: readonly string[] = DEFAULT_EMPLOYER_IDS,
  employeesEach: number = DEFAULT_EMPLOYEES_EACH,
): World {
  return new Map(employerIds.map((id) => [id, makeCensus(seed, id, employeesEach)]));
}

/** Creates an employer's census, the same for the same seed. Employee ids include the employer's. */
export function makeCensus(seed: number, employerId: string, employees = DEFAULT_EMPLOYEES_EACH): Census {
  const random = seededRandom(seed, 'census', employerId);
  const organization = makeOrganization(random, employerId);
  const numbers = Array.from({ length: employees }, (_, index) => index + 1);
  return { organization, employees: numbers.map((number) => makeEmployee(random, employerId, number)) };
}

function makeOrganization(random: Random, employerId: string): Organization {
  const firstName = pick(random, FIRST_NAMES);
  const lastName = pick(random, LAST_NAMES);
  const title = employerId.replaceAll('-', ' ').replace(/(?:^| )./g, (start) => start.toUpperCase());
  return {
    legal_business_name: `${title} Inc`,
    // No employer's number begins with 00.
    fein: `00-${digits(random, 7)}`,
    entity_type: pick(random, ENTITY_TYPES),
    contact: { first_name: firstName, last_name: lastName, email: emailOf(firstName, lastName, 'benefits') },
    address: makeAddress(random),
  };
}

function makeEmployee(random: Random, employerId: string, number: number): Employee {
  const firstName = pick(random, FIRST_NAMES);
  const lastName = pick(random, LAST_NAMES);
  const fullTime = random() < 0.8;
  const salaried = fullTime && random() < 0.6;
  const hireDate = makeDay(random, 2016, 2025);
  return {
    employee_id: `${employerId}-${String(number).padStart(3, '0')}`,
    first_name: firstName,
    last_name: lastName,
    dob: makeDay(random, 1960, 2003),
    address: makeAddress(random),
    hire_date: hireDate,
    email: emailOf(firstName, lastName, String(number)),
    hours_worked: String(fullTime ? 40 : between(random, 16, 29)),
    pay_rate: [
      {
        amount: salaried
          ? `${between(random, 42, 160)}000.00`
          : `${between(random, 17, 48)}.${digits(random, 2)}`,
        period: salaried ? 'annually' : 'hourly',
        effective_start: hireDate,
      },
    ],
    employment_status: fullTime ? 'full_time' : 'part_time',
    // No social security number begins with 000.
    ...(random() < 0.8 && { ssn: `000-${digits(random, 2)}-${digits(random, 4)}` }),
    // 555-01xx numbers are reserved for fiction.
    ...(random() < 0.7 && { phone_number: `20255501${digits(random, 2)}` }),
    ...(random() < 0.9 && { biological_sex: pick(random, ['male', 'female'] as const) }),
    pay_frequency: pick(random, PAY_FREQUENCIES),
    job_title: pick(random, JOB_TITLES),
  };
}

function makeAddress(random: Random): Address {
  const line1 = `${between(random, 1, 990)} ${pick(random, STREETS)}`;
  const line2 = random() < 0.3 ? { line2: `Apt ${between(random, 1, 40)}` } : {};
  return { line1, ...line2, ...pick(random, PLACES) };
}

/** Returns a day that exists in every month. */
function makeDay(random: Random, firstYear: number, lastYear: number): string {
  const [month, day] = [between(random, 1, 12), between(random, 1, 28)].map((n) =>
    String(n).padStart(2, '0'),
  );
  return `${between(random, firstYear, lastYear)}-${month}-${day}`;
}

function digits(random: Random, count: number): string {
  return Array.from({ length: count }, () => between(random, 0, 9)).join('');
}

function emailOf(firstName: string, lastName: string, mark: string): string {
  return `${firstName}.${lastName}.${mark}@example.com`.toLowerCase().replace("'", '');
}

/** Parts of fictional people and places. Cities, states and zip codes match; streets are made up. */

const FIRST_NAMES = [
  ...['Ada', 'Bruno', 'Carla', 'Dmitri', 'Elena', 'Farid', 'Grace', 'Hugo', 'Imani', 'Jonas', 'Keiko'],
  ...['Liam', 'Maya', 'Noor', 'Oscar', 'Priya', 'Quinn', 'Rosa', 'Samuel', 'Tara', 'Ulrich', 'Vera'],
  ...['Wesley', 'Ximena', 'Yusuf', 'Zoe'],
] as const;

const LAST_NAMES = [
  ...['Abbott', 'Brandt', 'Castillo', 'Dorsey', 'Eklund', 'Fontaine', 'Granger', 'Holloway', 'Ibarra'],
  ...['Jansen', 'Kowalski', 'Lindqvist', 'Marlowe', 'Nakamura', "O'Neill", 'Pereira', 'Quill', 'Rosario'],
  ...['Sandoval', 'Thorne', 'Underhill', 'Vasquez', 'Whitlock', 'Young-Baker', 'Zimmer'],
] as const;

const JOB_TITLES = [
  ...['Accountant', 'Baker', 'Driver', 'Nurse', 'Office manager', 'Receptionist', 'Shift lead'],
  ...['Software engineer', 'Store clerk', 'Technician'],
] as const;

const STREETS = ['Alder Way', 'Birch Lane', 'Foundry Road', 'Juniper Court', 'Old Mill Street'] as const;

const PLACES = [
  { city: 'Austin', state: 'TX', zip_code: '78701' },
  { city: 'Boise', state: 'ID', zip_code: '83702' },
  { city: 'Columbus', state: 'OH', zip_code: '43215' },
  { city: 'Denver', state: 'CO', zip_code: '80202' },
  { city: 'Portland', state: 'ME', zip_code: '04101' },
  { city: 'Sacramento', state: 'CA', zip_code: '95814' },
  { city: 'Tampa', state: 'FL', zip_code: '33602' },
  { city: 'Washington', state: 'DC', zip_code: '20001' },
] as const;
