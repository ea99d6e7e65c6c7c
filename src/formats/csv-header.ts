/** The names of a CSV's columns. Pure. */
import { DID_YOU_MEAN } from '../contract/check.ts';
import { folded } from '../contract/meant.ts';
import type { Problem } from '../errors.ts';

/** `what` appears in messages: "a census". `format`: the kind of file format that reads other
 * headers; none by default. */
export type NamedColumns = {
  readonly names: readonly string[];
  readonly required: readonly string[];
  readonly what: string;
  readonly format?: string | undefined;
};

export const MISSING_COLUMN = 'is a missing column';

/** The path of the problem that a file format solves. */
export const WHOLE_FILE = 'the file';

/** Returns the problem of a file that a file format may read as it is; none if no format reads such files. */
export function formatProblem({ format }: Pick<NamedColumns, 'format'>): Problem[] {
  if (format === undefined) return [];
  const command = `"benefits-sidecar format propose FILE --employer ID" with --kind ${format}`;
  const rule = `is not in the strict form. Correct it, or propose a file format of the employer, which reads it as it is: ${command}`;
  return [{ path: WHOLE_FILE, rule }];
}

/** Returns the problems of a strict file, first the file's own if a format may read values that are not in the contract's form. */
export function withFormatProblem(
  problems: readonly Problem[],
  named: Pick<NamedColumns, 'format'>,
): readonly Problem[] {
  const isMeant = problems.some(({ hint }) => hint?.startsWith(DID_YOU_MEAN));
  const isNamed = problems.some(({ path }) => path === WHOLE_FILE);
  return isMeant && !isNamed ? [...formatProblem(named), ...problems] : problems;
}

/** Returns a function that reports whether a cell is the name of a column, perhaps written in other ways: `First Name`. */
export function columnFinder(names: readonly string[]): (cell: string) => boolean {
  const words = new Set(names.flatMap(wordsOf));
  return (cell) => cell.length <= NAME_CHARACTERS_MAX && words.has(folded(cell));
}

/** A cell with more characters is no name, and no hint repeats it. */
const NAME_CHARACTERS_MAX = 64;

/** Other words for the last parts of names. Of two columns for one name, the earlier word has it. */
const OTHER_WORDS: OtherWords = {
  employee_id: [
    ...[
      'employeenumber',
      'employeeno',
      'employeecode',
      'empid',
      'empno',
      'empnumber',
      'empcode',
      'eeid',
      'eeno',
    ],
    ...['associateid', 'workerid', 'workernumber', 'teammemberid', 'personnelnumber', 'personnumber'],
    ...['filenumber', 'fileno', 'file', 'badgenumber', 'positionid', 'emp', 'ee', 'id', 'employee'],
  ],
  first_name: ['givenname', 'forename', 'fname', 'first'],
  last_name: ['surname', 'familyname', 'lname', 'last'],
  dob: ['dateofbirth', 'birthdate', 'birthday', 'born', 'birth'],
  line1: ['street', 'streetaddress', 'street1', 'streetaddress1', 'address', 'address1', 'addressline1'],
  line2: ['address2', 'addressline2', 'street2', 'streetaddress2', 'apt', 'apartment', 'unit', 'suite'],
  city: ['town', 'citytown'],
  state: ['st', 'stateprovince', 'statecode', 'stateterritory', 'stateterritorycode'],
  zip_code: ['zip', 'postcode', 'postalcode', 'zippostalcode', 'zippostal'],
  hire_date: [
    ...['datehired', 'dateofhire', 'hireddate', 'hired', 'originalhiredate', 'startdate'],
    ...['lasthiredate', 'mostrecenthiredate', 'rehiredate', 'daterehired'],
  ],
  email: [
    'emailaddress',
    'mail',
    'personalemail',
    'homeemail',
    'workemail',
    'personalemailaddress',
    'workemailaddress',
  ],
  hours_worked: [
    ...['hoursperweek', 'weeklyhours', 'hoursweek', 'scheduledhours', 'standardhours', 'standardweeklyhours'],
    ...['scheduledweeklyhours', 'defaulthours', 'workhours', 'hours'],
  ],
  amount: [
    ...['payrate', 'rate', 'rateofpay', 'pay', 'salary', 'wage', 'annualsalary', 'hourlyrate'],
    ...[
      'annualrate',
      'basepay',
      'baserate',
      'basesalary',
      'compensation',
      'payrateamount',
      'annualcompensation',
    ],
    ...['regularpayrate', 'regularpayrateamount', 'compensationrate', 'payamount', 'rate1', 'baserate1'],
    ...['amounttaken', 'memberamount', 'employeeamount', 'eeamount', 'deductionamount'],
  ],
  period: [
    'paytype',
    'payperiod',
    'per',
    'ratetype',
    'rateper',
    'paybasis',
    'compensationtype',
    'payrateperiod',
  ],
  effective_start: [
    ...['payeffectivedate', 'rateeffectivedate', 'payrateeffectivedate', 'regularpayeffectivedate'],
    ...['compensationeffectivedate', 'salaryeffectivedate', 'effectivedate'],
  ],
  employment_status: [
    ...[
      'employmenttype',
      'employeetype',
      'workercategory',
      'workercategorydescription',
      'employmentcategory',
    ],
    ...['fullpart', 'fullparttime', 'fulltimeparttime', 'ftpt', 'status'],
  ],
  ssn: [
    ...['socialsecuritynumber', 'socialsecurityno', 'socialsecurity', 'social', 'ssno', 'ssnumber'],
    ...['taxidssn', 'ssntaxid'],
  ],
  phone_number: [
    ...['phone', 'telephone', 'mobile', 'cell', 'cellphone', 'homephone', 'mobilephone', 'personalphone'],
    ...['personalmobile', 'mobilenumber', 'mobilephonenumber', 'phoneno', 'telephonenumber'],
  ],
  termination_date: ['terminated', 'enddate', 'lastday', 'termdate', 'dateterminated', 'separationdate'],
  biological_sex: ['sex', 'gender'],
  pay_frequency: ['frequency', 'freq', 'payfreq', 'paycycle', 'payschedule', 'payfrequencydescription'],
  job_title: ['title', 'job', 'position', 'occupation', 'jobtitledescription', 'positiontitle'],
  member_contribution: ['employeecontribution', 'eecontribution', 'eeamount', 'deductionamount', 'rate'],
  employer_contribution: ['ercontribution', 'eramount', 'employeramount'],
  member_amount: ['employeeamount', 'eeamount', 'employeecontribution', 'deductionamount', 'rate'],
  employer_amount: ['eramount', 'employercontribution', 'ercontribution'],
  effective_end: ['stopdate', 'enddate'],
  code: ['deductioncode', 'paycode'],
};

/** What precedes the words of a person's own data: `Legal First Name`, `Primary Address: City`. */
const QUALIFIER =
  /^(?:legal|employee|emp|ee|worker|home|primary|permanent|residential|personalcontact|workcontact)/;
const IS_PERSONAL = /^(?:first_name|last_name|dob|ssn|email|phone_number|address\..+)$/;

/** A name and its last part: `address.zip_code` is also written `ZIP Code`. */
function wordsOf(name: string): string[] {
  const last = name.slice(name.lastIndexOf('.') + 1);
  return [folded(name), folded(last)];
}

/**
 * Returns the problems of a header. A column without a name has none: a value in it is a problem of its row. Names of unknown
 * columns are in hints only: without a header, they are values of the first row. `isKnown` reports whether the column at an
 * index has the name of one.
 */
export function headerProblems(
  header: readonly string[],
  named: NamedColumns,
  isKnown: (index: number) => boolean = (index) => named.names.includes(header[index] as string),
): Problem[] {
  const { names, required, what } = named;
  const isColumn = columnFinder(names);
  if (!header.some((name, index) => isKnown(index) || isColumn(name))) {
    const rule = `must name the columns of ${what}, and names none. They are: ${names.join(', ')}`;
    return [...formatProblem(named), { path: 'the header', rule }];
  }
  const problems = header.flatMap((name, index): Problem[] => {
    if (isKnown(index)) {
      return header.indexOf(name) < index ? [{ path: name, rule: 'is a duplicate column' }] : [];
    }
    if (name === '') return [];
    const missing = names.filter((known) => !header.includes(known));
    return [{ path: `column ${index + 1}`, rule: `is not a column of ${what}`, ...hintOf(name, missing) }];
  });
  const missing = required.filter((name) => !header.includes(name));
  problems.push(...missing.map((path) => ({ path, rule: MISSING_COLUMN })));
  return problems.length === 0 ? [] : [...formatProblem(named), ...problems];
}

function hintOf(name: string, names: readonly string[]): { hint?: string } {
  if (name.length > NAME_CHARACTERS_MAX) return {};
  const nearest = nearestName(name, names);
  return { hint: `its name is "${name}"${nearest === null ? '' : `: did you mean ${nearest}?`}` };
}

type OtherWords = Readonly<Record<string, readonly string[]>>;

/** A column with a lower rank has the name before others. */
type Usual = { readonly name: string; readonly rank: number };

/** Returns the name that is written alike or has the same meaning. `words`: further words for names. */
export function usualMatch(name: string, names: readonly string[], words: OtherWords = {}): Usual | null {
  const word = folded(name);
  const personal = names.filter((known) => IS_PERSONAL.test(known));
  const bare = word.replace(QUALIFIER, '');
  const bares = bare === word ? [] : [bare, bare.replace(/^address(?=.)/, '')];
  return (
    matchOf(word, names, words) ??
    bares
      .map((candidate) => matchOf(candidate, personal, words, QUALIFIED))
      .find((match) => match !== null) ??
    null
  );
}

/** Ranks of other words follow those of names and of a kind's own words; words with a qualifier follow all. */
const [OTHER, QUALIFIED] = [1_000, 2_000];

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
