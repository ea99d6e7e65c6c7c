/** The headers that payroll and HR systems usually give to our columns. Pure. */
import { folded } from '../contract/meant.ts';

/** Further words for names, without blanks and punctuation. */
export type OtherWords = Readonly<Record<string, readonly string[]>>;

/** Other words for the last parts of names, the likeliest first. */
const OTHER_WORDS: OtherWords = {
  employee_id: [
    ...['employeenumber', 'employeeno', 'employeecode', 'empid', 'empno', 'empnumber', 'empcode', 'eeid'],
    ...['eeno', 'associateid', 'workerid', 'workernumber', 'teammemberid', 'personnelnumber', 'personnumber'],
    ...['filenumber', 'fileno', 'file', 'badgenumber', 'positionid', 'emp', 'ee', 'id', 'eecode'],
    ...['eenumber', 'idnumber'],
  ],
  first_name: ['givenname', 'forename', 'fname', 'first'],
  last_name: ['surname', 'familyname', 'lname', 'last'],
  dob: ['dateofbirth', 'birthdate', 'birthday', 'born', 'birth'],
  line1: [
    ...['street', 'streetaddress', 'street1', 'streetaddress1', 'address', 'address1', 'addressline1'],
    ...['streetline1', 'streetaddressline1'],
  ],
  line2: [
    ...['address2', 'addressline2', 'street2', 'streetaddress2', 'apt', 'apartment', 'unit', 'suite'],
    ...['streetline2', 'streetaddressline2', 'aptsuite'],
  ],
  city: ['town', 'citytown', 'citymunicipality'],
  state: ['st', 'stateprovince', 'statecode', 'stateterritory', 'stateterritorycode'],
  zip_code: ['zip', 'postcode', 'postalcode', 'zippostalcode', 'zippostal'],
  hire_date: [
    // An employee who was hired again has the last one.
    ...[
      'lasthiredate',
      'mostrecenthiredate',
      'latesthiredate',
      'datehired',
      'dateofhire',
      'hireddate',
      'hired',
    ],
    ...['originalhiredate', 'startdate', 'rehiredate', 'daterehired', 'employmentstartdate', 'workstartdate'],
  ],
  email: [
    ...['emailaddress', 'mail', 'personalemail', 'homeemail', 'workemail'],
    ...['personalemailaddress', 'workemailaddress', 'mainemail', 'preferredemail'],
  ],
  hours_worked: [
    ...['hoursperweek', 'weeklyhours', 'hoursweek', 'scheduledhours', 'standardhours', 'standardweeklyhours'],
    ...['scheduledweeklyhours', 'defaulthours', 'workhours', 'hours'],
    ...['scheduledworkhours', 'hoursworkedperweek', 'stdhours', 'scheduledhoursperweek'],
    ...['standardhoursperweek'],
  ],
  amount: [
    // Next to the pay of a year, a salary is the pay of a paycheck.
    ...['payrate', 'rate', 'rateofpay', 'pay', 'annualsalary', 'annualrate', 'annualcompensation', 'salary'],
    ...['wage', 'hourlyrate', 'basepay', 'baserate', 'basesalary', 'compensation', 'payrateamount'],
    ...['regularpayrate', 'regularpayrateamount', 'compensationrate', 'payamount', 'rate1', 'baserate1'],
    ...['amounttaken', 'memberamount', 'employeeamount', 'eeamount', 'deductionamount'],
    ...['rateamount', 'regularrate', 'comprate', 'salaryamount', 'compensationamount'],
  ],
  period: [
    ...['paytype', 'payperiod', 'per', 'ratetype', 'rateper', 'paybasis', 'compensationtype'],
    ...['payrateperiod', 'ratedescription', 'regularpayratedescription'],
    ...['compensationperiod', 'compensationtimeperiod', 'paidper', 'salarybasis', 'salaryorhourly'],
    ...['salaryhourly', 'hourlysalary', 'compensationunit', 'wagetype', 'comptype', 'compperiod'],
    ...['salarytype', 'compensationbasis', 'payper'],
  ],
  effective_start: [
    ...['payeffectivedate', 'rateeffectivedate', 'payrateeffectivedate', 'regularpayeffectivedate'],
    ...['compensationeffectivedate', 'salaryeffectivedate', 'effectivedate'],
    ...['compeffectivedate', 'baserateeffectivedate', 'payrateeffective', 'compeffective', 'salarystartdate'],
    ...['rateeffective', 'salaryeffective', 'compensationstartdate', 'payratestartdate', 'ratestartdate'],
  ],
  employment_status: [
    ...['employmenttype', 'employeetype', 'workercategory', 'workercategorydescription'],
    ...['employmentcategory', 'fullpart', 'fullparttime', 'fulltimeparttime', 'ftpt', 'ftptstatus'],
    ...['employeeclassification', 'dolstatus', 'status'],
  ],
  ssn: [
    ...['socialsecuritynumber', 'socialsecurityno', 'socialsecurity', 'social', 'ssno', 'ssnumber'],
    ...['taxidssn', 'ssntaxid'],
  ],
  phone_number: [
    ...['phone', 'telephone', 'mobile', 'cell', 'cellphone', 'homephone', 'mobilephone', 'personalphone'],
    ...['personalmobile', 'mobilenumber', 'mobilephonenumber', 'phoneno', 'telephonenumber', 'mainphone'],
  ],
  termination_date: [
    ...['terminated', 'enddate', 'lastday', 'termdate', 'dateterminated', 'separationdate', 'releasedate'],
    ...['employmentenddate', 'departuredate'],
  ],
  biological_sex: ['sex', 'gender', 'legalsex', 'birthsex', 'gendersex', 'sexgender'],
  pay_frequency: [
    ...['frequency', 'payfreq', 'paycycle', 'payschedule', 'payfrequencydescription'],
    ...['payrollfrequency', 'payschedulefrequency', 'payperiodfrequency'],
  ],
  job_title: ['title', 'job', 'position', 'occupation', 'jobtitledescription', 'positiontitle'],
  member_contribution: ['employeecontribution', 'eecontribution', 'eeamount', 'deductionamount', 'rate'],
  employer_contribution: ['ercontribution', 'eramount', 'employeramount'],
  member_amount: ['employeeamount', 'eeamount', 'employeecontribution', 'deductionamount', 'rate'],
  employer_amount: ['eramount', 'employercontribution', 'ercontribution'],
  effective_end: ['stopdate', 'enddate'],
  code: ['deductioncode', 'paycode'],
};

/** What may precede the name of a person's own data: `Legal First Name`, `Primary Address: City`. */
const QUALIFIER =
  /^(?:legal|employee|emp|ee|worker|home|primary|permanent|residential|personalcontact|workcontact)+/;
const IS_PERSONAL = /^(?:first_name|last_name|dob|ssn|email|phone_number|address\..+)$/;

/** A name and its last part: `address.zip_code` is also written `ZIP Code`. */
function wordsOf(name: string): string[] {
  const last = name.slice(name.lastIndexOf('.') + 1);
  return [folded(name), folded(last)];
}

/** Returns a function that reports whether a cell is the name of a column, perhaps written in other ways: `First Name`. */
export function columnFinder(names: readonly string[]): (cell: string) => boolean {
  const words = new Set(names.flatMap(wordsOf));
  return (cell) => cell.length <= NAME_CHARACTERS_MAX && words.has(folded(cell));
}

/** A cell with more characters is no name, and no hint repeats it. */
export const NAME_CHARACTERS_MAX = 64;

/** A name that a header means. If several headers mean one name, the header with the lowest rank has it. */
type Usual = { readonly name: string; readonly rank: number };

/** Returns the name that is written alike or has the same meaning. `words`: further words for names. */
export function usualMatch(name: string, names: readonly string[], words: OtherWords = {}): Usual | null {
  const bareName = name.replace(HOW_TO_WRITE, '');
  const word = folded(bareName);
  const match =
    matchOf(word, names, words) ??
    matchOf(writtenOut(bareName), names, words) ??
    contributionOf(word, names, words) ??
    codedMatch(word, names, words) ??
    codedMatch(writtenOut(bareName), names, words);
  if (match !== null) return match;
  const bare = word.replace(QUALIFIER, '');
  const personal = names.filter((known) => IS_PERSONAL.test(known));
  const ofGroup = bare.replace(/^(?:address|name)(?=.)/, '');
  return matchOf(bare, personal, words, QUALIFIED) ?? matchOf(ofGroup, personal, words, QUALIFIED);
}

/** What systems abbreviate in the names of columns. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  ...{ addr: 'address', cd: 'code', dt: 'date', eff: 'effective', emp: 'employee', empl: 'employee' },
  ...{ freq: 'frequency', hrs: 'hours', nbr: 'number', nm: 'name', num: 'number' },
  ...{ rt: 'rate', std: 'standard', wk: 'week' },
};

/** Returns the word of a name with abbreviations, such as `HIRE_DT`, `Empl ID` or `Emp #`. */
function writtenOut(name: string): string {
  const parts = name.replace('#', ' number').split(/[^\p{L}\d]+|(?<=[a-z])(?=[A-Z])/u);
  return folded(parts.map((part) => ABBREVIATIONS[part.toLowerCase()] ?? part).join(''));
}

/** A note on how to write the values: `Birth Date (MM/DD/YYYY)`. Other words, such as `(Spouse)`, change the meaning of a header. */
const HOW_TO_WRITE =
  /\((?:(?:(?:mm?|dd?|yy(?:yy)?)[/. -]?){3}|m\/f|f\/m|ft\/pt|required|optional|self-id)\)$/i;

/** Fields with few values, which systems export as codes or as descriptions. */
const IS_CODED = /(?:^|\.)(?:employment_status|pay_frequency|period|biological_sex)$/;

/** `Worker Category Code`. */
function codedMatch(word: string, names: readonly string[], words: OtherWords): Usual | null {
  const bare = word.replace(/(?:code|description|desc)$/, '');
  const coded = names.filter((known) => IS_CODED.test(known));
  return bare === word ? null : matchOf(bare, coded, words, QUALIFIED);
}

/** The first ranks of `OTHER_WORDS` and of words after a qualifier. Names and the words of a kind rank before both. */
const [OTHER, QUALIFIED] = [1_000, 2_000];

/** The first ranks of a deduction's amounts per month, and per paycheck. */
const [MONTHLY, PER_PAY] = [3_000, 4_000];
const PER = /(?<!semi|bi)(monthly)(?=.)|(?:per)?(month(?:ly)?)$|per(?:pay(?:period|check)?|check|deduction)$/;

/** `Employee Cost (Monthly)`. In a file with both periods, both contributions are read per month. */
function contributionOf(word: string, names: readonly string[], words: OtherWords): Usual | null {
  const [part, before, after] = PER.exec(word) ?? [];
  if (part === undefined) return null;
  const contributions = names.filter((known) => known.endsWith('_contribution'));
  const rank = before === undefined && after === undefined ? PER_PAY : MONTHLY;
  return matchOf(word.replace(part, ''), contributions, words, rank);
}

function matchOf(word: string, names: readonly string[], words: OtherWords, after = 0): Usual | null {
  for (const name of names) {
    const rank = [...wordsOf(name), ...(words[name] ?? [])].indexOf(word);
    if (rank !== -1) return { name, rank: after + rank };
  }
  for (const name of names) {
    const rank = OTHER_WORDS[name.slice(name.lastIndexOf('.') + 1)]?.indexOf(word) ?? -1;
    if (rank !== -1) return { name, rank: after + OTHER + rank };
  }
  return null;
}

/** Returns the name that is written alike, has the same meaning, or needs the fewest changes, at most a third of its characters. */
export function nearestName(name: string, names: readonly string[], words?: OtherWords): string | null {
  const usual = usualMatch(name, names, words);
  if (usual !== null) return usual.name;
  const word = folded(name);
  const ranked = names.flatMap((known) =>
    wordsOf(known).map((candidate) => {
      const changes = changesBetween(word, candidate);
      return { known, changes, isNear: changes * 3 <= Math.max(word.length, candidate.length) };
    }),
  );
  const near = ranked.filter(({ isNear }) => isNear).toSorted((a, b) => a.changes - b.changes);
  return near[0]?.known ?? null;
}

/** Returns how many letters to add, remove or replace (Levenshtein). */
function changesBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let at = 1; at <= from.length; at += 1) {
    const next = [at];
    for (let index = 1; index <= to.length; index += 1) {
      const replaced = (row[index - 1] as number) + (from[at - 1] === to[index - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[index] as number) + 1, (next[index - 1] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}

/** Returns the period of pay rates that a header names, such as `Annual Salary`; null if it names none or several. */
export function periodOfHeader(header: string): 'annually' | 'hourly' | null {
  const isHourly = /hour/i.test(header);
  if (/annual|year/i.test(header)) return isHourly ? null : 'annually';
  return isHourly && !/salar/i.test(header) ? 'hourly' : null;
}
