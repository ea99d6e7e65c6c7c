/**
 * Reads values as people and spreadsheets write them: `4/5/1980`, `$52,000`, `Bi-Weekly`. Each function returns the value in
 * the contract's form, or null for a text that has no such meaning or several. Pure.
 */
import { isDay } from './instant.ts';

/** Hyphens and dashes that word processors write, and the minus sign. */
const DASHES = /[\u2010-\u2015\u2212]/g;

/** Characters without width: marks of a text's direction, joiners and optional hyphens. */
const INVISIBLE = /[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad]/g;

/** Spreadsheets mark a number that is stored as a text: `'0123` and `="0123"`. */
const TEXT_MARK = /^['’](?=.)|^="(.*)"$/;

/** Returns a text in plain characters, without blanks at its ends. */
function plain(written: string): string {
  const text = written.normalize('NFKC').replace(INVISIBLE, '').replace(DASHES, '-');
  return text.trim().replace(TEXT_MARK, '$1').trim();
}

const MONTHS = [
  ...['january', 'february', 'march', 'april', 'may', 'june', 'july', 'august'],
  ...['september', 'october', 'november', 'december'],
];

/** Two digits of a year are 1980 to 2079. Those of a birth are the latest year that is not after `today`, by default this day. */
const LAST_SHORT_YEAR_OF_2000 = 79;
const LATEST_BIRTH = '2029-12-31';

/** A date's number in a spreadsheet counts the days since this day; five digits are 1927 to 2173. */
const SERIAL_DAY_0 = Date.UTC(1899, 11, 30);
const DAY_MS = 86_400_000;

/** The time of a date-time. With a time zone, only midnight leaves no doubt about the day. */
const TIME =
  /[T ](?:\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[AP]M)?|0{1,2}:00(?::00(?:\.0+)?)?(?: ?Z|[+-]\d\d:?\d\d))$/i;

const NUMERIC = /^(\d{1,2}|\d{4})([/.-])(\d{1,2})\2(\d{4}|\d{1,2})$/;
const COMPACT = /^(\d\d)(\d\d)(\d\d)(\d\d)$/;
const DAY_FIRST_WORDS = /^(\d{1,2})(?:st|nd|rd|th)?[ ./-]*([a-z]{3,9})[ ,./-]*(\d{4}|\d\d)$/i;
const MONTH_FIRST_WORDS = /^([a-z]{3,9})[ ./-]*(\d{1,2})(?:st|nd|rd|th)?(?: *, *| +|[./-])(\d{4}|\d\d)$/i;
const YEAR_FIRST_WORDS = /^(\d{4})[ ./-]*([a-z]{3,9})[ ./-]*(\d{1,2})$/i;
const WEEKDAY = /^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?[ ,.]+/i;

/** The rules that read values that are not in the contract's form. */
export const MEANING_RULES = [
  ...['date-month-first', 'date-year-first', 'date-short-year', 'date-name', 'date-digits', 'date-serial'],
  ...['date-time', 'date-day-first', 'amount', 'rounded', 'phone', 'ssn', 'zip', 'word', 'email', 'blanks'],
] as const;
export type MeaningRule = (typeof MEANING_RULES)[number];

/** A value in the contract's form, and the rule by which it was read. */
export type Meant = { readonly value: string; readonly rule: MeaningRule };

/** Returns a date as `YYYY-MM-DD`. A date of two meanings is month first: `4/5/1980` is April 5. */
export function meantDate(written: string): string | null {
  return readDate(written)?.value ?? null;
}

type DateParts = readonly [year: string, month: string, day: string, rule: MeaningRule];

/** `latestBirth`: the last possible day of a birth; null for other dates. */
function readDate(written: string, latestBirth: string | null = null): Meant | null {
  const text = plain(written)
    .replace(TIME, '')
    .replace(WEEKDAY, '')
    .split(/([/.-])/)
    .map((part) => part.trim())
    .join('');
  if (isDay(text)) return { value: text, rule: 'date-time' };
  for (const [year, month, day, rule] of datesIn(text)) {
    const isShort = year.length === 2;
    const recent = dayOf(isShort ? `20${year}` : year, month, day);
    const isOfCentury =
      latestBirth === null
        ? Number(year) <= LAST_SHORT_YEAR_OF_2000
        : recent !== null && recent <= latestBirth;
    const value = !isShort || isOfCentury ? recent : dayOf(`19${year}`, month, day);
    if (value !== null) return { value, rule: isShort ? 'date-short-year' : rule };
  }
  return null;
}

/** Yields the dates that a text may be, perhaps impossible ones, the most likely first. */
function* datesIn(text: string): Generator<DateParts> {
  const numeric = NUMERIC.exec(text);
  if (numeric !== null) {
    const [, first = '', , second = '', last = ''] = numeric;
    if (first.length === 4) {
      if (last.length < 4) yield [first, second, last, 'date-year-first'];
    } else if (last.length > 1) {
      yield [last, first, second, 'date-month-first'];
      yield [last, second, first, 'date-day-first'];
    }
    return;
  }
  const compact = COMPACT.exec(text);
  if (compact !== null) {
    const [, a = '', b = '', c = '', d = ''] = compact;
    if (isCentury(a)) yield [a + b, c, d, 'date-digits'];
    else if (isCentury(c)) yield [c + d, a, b, 'date-digits'];
    return;
  }
  const [, day = '', month = '', year] = DAY_FIRST_WORDS.exec(text) ?? [];
  if (year !== undefined) yield [year, monthOf(month), day, 'date-name'];
  const [, name = '', dayOfMonth = '', itsYear] = MONTH_FIRST_WORDS.exec(text) ?? [];
  if (itsYear !== undefined) yield [itsYear, monthOf(name), dayOfMonth, 'date-name'];
  const [, firstYear, nameAfter = '', lastDay = ''] = YEAR_FIRST_WORDS.exec(text) ?? [];
  if (firstYear !== undefined) yield [firstYear, monthOf(nameAfter), lastDay, 'date-name'];
  const [, serial] = /^([1-9]\d{4})(?:\.\d+)?$/.exec(text) ?? [];
  if (serial === undefined) return;
  const instant = new Date(SERIAL_DAY_0 + Number(serial) * DAY_MS).toISOString();
  const [serialYear = '', serialMonth = '', serialDay = ''] = instant.split(/[-T]/);
  yield [serialYear, serialMonth, serialDay, 'date-serial'];
}

const isCentury = (digits: string): boolean => digits === '19' || digits === '20';

/** `name` has at least three letters, which no two months share. */
function monthOf(name: string): string {
  const index = MONTHS.findIndex((month) => month.startsWith(name.toLowerCase()));
  return index === -1 ? '' : String(index + 1);
}

function dayOf(year: string, month: string, day: string): string | null {
  const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return isDay(date) ? date : null;
}

const AMOUNT =
  /^(\()?([+-]?)(?:USD|\$)? ?(-?)(\d{1,3}(?:,\d{3})+|\d{1,3}(?:['’]\d{3})+|\d*)(?:\.(\d*))?(?: ?USD)?(-?)(\))?$/i;

/** A dash instead of cents, as in `52000.-`, is no sign. */
const NO_CENTS = /(?<=\d)[.,]--?(?=(?: ?USD)?\)?$)/i;

/** Spreadsheets' accounting format: `$ (25.00)`, and `$ -` for zero. */
const ACCOUNTING = /^\$ *(?:(\(.+\))|-)$/;

/**
 * Returns an amount as a plain decimal: `$1,350.00` is 1350.00, and `(25.00)` and `25.00-` are -25.00. `1.350` has two meanings,
 * because the point separates thousands in many countries, unless `isDollars`.
 */
export function meantAmount(written: string, isDollars = false): string | null {
  const text = plain(written)
    .replace(ACCOUNTING, (_, negative = '0.00') => negative)
    .replace(NO_CENTS, '.00');
  const [, open = '', sign = '', inner, whole = '', decimals = '', after, close = ''] =
    AMOUNT.exec(text) ?? [];
  if (whole + decimals === '') return null;
  if (!isDollars && decimals.length === 3 && /^[1-9]\d{0,2}$/.test(whole)) return null;
  const signs = [sign, inner, after, open + close].filter((one) => one !== '');
  if (open.length !== close.length || signs.length > 1) return null;
  // Zeros after the cents are no cents.
  const cents = decimals.slice(0, 2) + decimals.slice(2).replace(/(?<!0)0+$/, '');
  const amount = `${whole.replace(/\D/g, '') || '0'}${cents && `.${cents}`}`;
  const isNegative = signs.length === 1 && sign !== '+' && /[1-9]/.test(amount);
  return isNegative ? `-${amount}` : amount;
}

/** `$25.00 /hr`, `$52,000.00 per year`. */
const UNIT = /(?<=\d) ?(?:\/|per ) ?(?:(hour|hr)|year|yr|annum)\.?$/i;

/** Returns the period of a pay rate that its text names, or null. */
export function periodOfRate(written: string): 'hourly' | 'annually' | null {
  if (!/[/p]/i.test(written)) return null;
  const [unit, hour] = UNIT.exec(plain(written)) ?? [];
  if (unit === undefined) return null;
  return hour === undefined ? 'annually' : 'hourly';
}

/** Returns a pay rate in cents, half a cent away from zero. */
function readRate(written: string): Meant | null {
  const bare = periodOfRate(written) === null ? written : plain(written).replace(UNIT, '');
  const amount = meantAmount(bare, true);
  const [, sign = '', whole = '', kept = '', next] = /^(-?)(\d+)\.(\d\d)(\d)/.exec(amount ?? '') ?? [];
  if (next === undefined) return ruled(amount, 'amount');
  const cents = String(BigInt(whole + kept) + (next >= '5' ? 1n : 0n)).padStart(3, '0');
  return { value: `${sign}${cents.slice(0, -2)}.${cents.slice(-2)}`, rule: 'rounded' };
}

/** Returns the ten digits of a phone number in the United States, without an extension. */
export function meantPhone(written: string): string | null {
  const text = plain(written).replace(/(?<![ ,;])[ ,;]*(?:x|ext\.?|extension)[ .:]*\d{1,6}$/i, '');
  if (!/^\+?[\d ().\-/]+$/.test(text)) return null;
  const digits = text.replace(/\D/g, '').replace(/^1(?=\d{10}$)/, '');
  return digits.length === 10 ? digits : null;
}

/** Returns a ZIP code as `02108` or `02108-1234`. Spreadsheets remove the zeros at its front. */
export function meantZip(written: string): string | null {
  const text = plain(written);
  const [, zip, plus4] = /^(\d{3,5})(?:[- ](\d{4}))?$/.exec(text) ?? /^(\d{4,5})(\d{4})$/.exec(text) ?? [];
  if (zip === undefined) return null;
  return `${zip.padStart(5, '0')}${plus4 === undefined ? '' : `-${plus4}`}`;
}

/** Returns the nine digits of a social security number from which a spreadsheet removed zeros at the front. */
function meantSsn(written: string): string | null {
  const text = plain(written);
  return /^\d{7,8}$/.test(text) ? text.padStart(9, '0') : null;
}

/** Other words for the contract's values, without blanks and punctuation. */
const SYNONYMS: Readonly<Record<string, readonly string[]>> = {
  full_time: [
    ...['f', 'ft', 'rft', 'full'],
    ...['salariedfulltime', 'hourlyfulltime', 'fulltimesalaried', 'fulltimehourly'],
  ],
  part_time: [
    ...['p', 'pt', 'rpt', 'part'],
    ...['salariedparttime', 'hourlyparttime', 'parttimesalaried', 'parttimehourly'],
  ],
  variable_hours: ['v', 'vh', 'variable', 'variablehour'],
  weekly: ['w', 'wk', 'wkly', 'week', 'everyweek', '52'],
  biweekly: [
    ...['b', 'bw', 'biwk', 'biwkly', '26'],
    ...['everytwoweeks', 'every2weeks', 'everyotherweek', 'fortnightly'],
  ],
  semimonthly: ['s', 'sm', 'semimo', 'twiceamonth', 'twicemonthly', 'twicepermonth', '24'],
  monthly: ['m', 'mo', 'month', 'everymonth', '12'],
  annually: [
    ...['a', 'y', 'annual', 'peryear', 'perannum', 'year', 'yearly', 'yr'],
    ...['s', 'salary', 'salaried', 'annualsalary'],
  ],
  hourly: ['h', 'hr', 'hour', 'perhour', 'hourlyrate', 'paidbythehour'],
  male: ['m', 'man'],
  female: ['f', 'woman'],
  pre_tax: ['pre', 'beforetax', 'section125', 'sec125', '125'],
  post_tax: ['post', 'aftertax'],
  medical: ['med', 'health', 'medicalinsurance', 'healthinsurance'],
  dental: ['den', 'dentalinsurance'],
  vision: ['vis', 'visioninsurance'],
  life: ['basiclife', 'lifeinsurance', 'grouplife'],
  voluntary_life: ['vollife', 'voluntarytermlife'],
  accidental_death: ['add', 'basicadd', 'accidentaldeathanddismemberment'],
  voluntary_accidental_death: ['voladd', 'voluntaryadd'],
  voluntary_critical_illness: ['criticalillness'],
  healthcare_fsa: ['medicalfsa', 'healthfsa', 'hcfsa', 'fsamedical', 'fsahealthcare'],
  dependent_care_fsa: ['dependentcare', 'depcare', 'depcarefsa', 'dcfsa', 'fsadependentcare'],
  limited_purpose_fsa: ['lpfsa', 'limitedfsa'],
  member: ['employee', 'ee', 'employeeonly', 'eeonly', 'single', 'individual', 'self'],
  member_spouse: ['employeespouse', 'employeeandspouse', 'eespouse', 'eeandspouse', 'eesp'],
  member_child: ['employeechild', 'employeeandchild', 'eechild', 'employee1child', 'ee1child'],
  member_children: ['employeechildren', 'employeeandchildren', 'eechildren', 'eeandchildren', 'eech'],
  member_family: ['family', 'fam', 'employeefamily', 'employeeandfamily', 'eefamily', 'eefam'],
  true: ['t', 'y', 'yes', '1'],
  false: ['f', 'n', 'no', '0'],
  hsa: ['healthsavingsaccount'],
  commuter_transit: ['commuter', 'transit'],
  short_term_disability: ['std'],
  long_term_disability: ['ltd'],
  ...{ AL: ['alabama'], AK: ['alaska'], AZ: ['arizona'], AR: ['arkansas'], CA: ['california'] },
  ...{ CO: ['colorado'], CT: ['connecticut'], DE: ['delaware'], FL: ['florida'], GA: ['georgia'] },
  DC: ['districtofcolumbia', 'washingtondc'],
  ...{ HI: ['hawaii'], ID: ['idaho'], IL: ['illinois'], IN: ['indiana'], IA: ['iowa'], KS: ['kansas'] },
  ...{ KY: ['kentucky'], LA: ['louisiana'], ME: ['maine'], MD: ['maryland'], MA: ['massachusetts'] },
  ...{ MI: ['michigan'], MN: ['minnesota'], MS: ['mississippi'], MO: ['missouri'], MT: ['montana'] },
  ...{ NE: ['nebraska'], NV: ['nevada'], NH: ['newhampshire'], NJ: ['newjersey'], NM: ['newmexico'] },
  ...{ NY: ['newyork'], NC: ['northcarolina'], ND: ['northdakota'], OH: ['ohio'], OK: ['oklahoma'] },
  ...{ OR: ['oregon'], PA: ['pennsylvania'], RI: ['rhodeisland'], SC: ['southcarolina'] },
  ...{ SD: ['southdakota'], TN: ['tennessee'], TX: ['texas'], UT: ['utah'], VT: ['vermont'] },
  ...{ VA: ['virginia'], WA: ['washington'], WV: ['westvirginia'], WI: ['wisconsin'], WY: ['wyoming'] },
};

/** Words that make no difference to a status or a period: `Regular FT`, `Salaried Non-Exempt`, `Salary/No overtime`. */
const OF_EMPLOYMENT =
  /\b(?:reg(?:ular)?|perm(?:anent)?|(?:non[- ]?)?exempt|no overtime|eligible for overtime)\b/gi;

/** Notes that change the meaning: `Life (Spouse)`, `Medical (Employer)`. */
const OF_ANOTHER = /\((?:spouse|child(?:ren)?|dependents?|(?:domestic )?partner|employer|er|company)\)$/i;

/** Returns the one of `values` that a text means: `Full Time`, `FT` and `F` are full_time, and `Texas` and `tx` are TX. */
export function meantChoice(values: readonly unknown[], written: string): string | null {
  // `Full time (30+ hours per week)`, but also `Child(ren)`.
  const note = written.endsWith(')') && !OF_ANOTHER.test(written) ? written.indexOf(' (') : -1;
  const words = [written, written.slice(0, Math.max(0, note)), written.replace(OF_EMPLOYMENT, '')]
    .map(folded)
    .filter((word) => word !== '');
  const isMeant = (value: unknown): value is string =>
    typeof value === 'string' &&
    words.some((word) => folded(value) === word || (SYNONYMS[value]?.includes(word) ?? false));
  return values.find(isMeant) ?? codedChoice(values, written);
}

/** Returns the value that a code and its description both mean: `FT - Full Time`. */
function codedChoice(values: readonly unknown[], written: string): string | null {
  const [code = '', description, another] = written.split(' - ');
  if (description === undefined || another !== undefined) return null;
  const meant = meantChoice(values, code);
  return meant === meantChoice(values, description) ? meant : null;
}

/** Returns the letters and digits of a text in lower case. */
export function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
}

const ruled = (value: string | null, rule: MeaningRule): Meant | null =>
  value === null ? null : { value, rule };

/** How a text without a format is read. A schema has it as its keyword `meant`. */
const READINGS = {
  amount: (written: string) => ruled(meantAmount(written), 'amount'),
  'pay-rate': readRate,
  phone: (written: string) => ruled(meantPhone(written), 'phone'),
  birth: (written: string, today = LATEST_BIRTH) => readDate(written, today),
  ssn: (written: string) => ruled(meantSsn(written), 'ssn'),
  zip: (written: string) => ruled(meantZip(written), 'zip'),
} as const;
export type Meaning = keyof typeof READINGS;

type Readable = { enum?: unknown[]; format?: string; pattern?: string; meant?: Meaning };

/** Returns the value that a text means, unless it is in the contract's form or has no meaning. `today` bounds births. */
export function meantFor(schema: object, written: string, today?: string): Meant | null {
  const { enum: values, format, pattern, meant } = schema as Readable;
  const read = reading();
  if (read === null || read.value === written) return null;
  if (pattern !== undefined && !RegExp(pattern, 'u').test(read.value)) return null;
  return read.value === plain(written) ? { ...read, rule: 'blanks' } : read;

  function reading(): Meant | null {
    if (values !== undefined) return ruled(meantChoice(values, written), 'word');
    if (meant !== undefined) return READINGS[meant](written, today);
    if (format === 'date' || format === 'day-or-date-time') return readDate(written);
    if (format === 'email') return ruled(plain(written).replace(/^mailto:|^<|>$/gi, ''), 'email');
    return null;
  }
}
