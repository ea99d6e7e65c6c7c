/** Warns about values of a census that the contract allows, and that are probably mistakes. A warning never contains a value. */
import { PROBLEMS_MAX } from '../contract/check.ts';
import { type Employee, FIRST_HIRE, type PayRate } from '../contract/employee.ts';
import { meantZip } from '../contract/meant.ts';
import { isZipOf } from '../contract/zip-prefixes.ts';
import type { Problem } from '../errors.ts';
import { withLines } from '../formats/rows.ts';
import { nearKey } from '../ledger/near-ids.ts';
import { parseAmount } from '../money.ts';
import { employeePath } from './reading.ts';

/** Spreadsheets write it for an empty date. */
const NO_BIRTH = '1900-01-01';
const AHEAD_YEARS = 2;
const WEEK_HOURS = 168;
/** Two weeks of 35 hours. */
const TWO_WEEKS_HOURS = 70;
/** In cents. */
const HOURLY_MAX = 1_000_00n;
const HOURLY_MIN = 1_00n;
const YEARLY_MIN = 1_000_00n;
/** In a year, full time pays more than this. */
const FULL_TIME_MIN = 10_000_00n;

const OR_EMPTY = 'Correct it, or leave it empty if it is unknown';
const LOST_ZEROS = 'A spreadsheet may have removed its first zeros';

type Warn = (path: string, rule: string) => void;

/** Collects the warnings about the rows of a census. `today` decides which dates are ahead. */
export function createWarnings(today: string) {
  const latest = `${Number(today.slice(0, 4)) + AHEAD_YEARS}${today.slice(4)}`;
  const rowOfSsn: Rows = new Map();
  const rowOfId: Rows = new Map();
  const warnings: Problem[] = [];
  const lines: number[] = [];
  let warning_count = 0;

  return {
    note(row: number, employee: Employee, line?: number): void {
      if (line !== undefined) lines[row] = line;
      const warn: Warn = (path, rule) => {
        warning_count += 1;
        if (warnings.length < PROBLEMS_MAX) warnings.push({ path: `${employeePath(row)}.${path}`, rule });
      };
      const { employee_id } = employee;
      warnOfTexts(employee, warn);
      const like = firstWith(rowOfId, nearKey(employee_id), { row, employee_id });
      if (like !== null) {
        const first = `${employeePath(like)}.employee_id`;
        warn('employee_id', `differs from ${first} only by zeros at its front, blanks, case or width`);
      }
      warnOfSsn(employee.ssn, warn, (digits) => firstWith(rowOfSsn, digits, { row, employee_id }));
      warnOfDates(employee, { today, latest }, warn);
      warnOfHours(employee.hours_worked, warn);
      warnOfPhone(employee.phone_number, warn);
      for (const [index, rate] of employee.pay_rate.entries()) warnOfRate(index, rate, employee, warn);
      warnOfAddress(employee.address, warn);
    },
    /** Returns the first `PROBLEMS_MAX`, and how many there are. */
    view: () => ({ warning_count, warnings: warnings.map((warning) => withLines(warning, lines)) }),
  };
}

/** The first row with a key. */
type Rows = Map<string, { row: number; employee_id: string }>;

/** Returns the first row that had the key before, or null. A second row of the same employee is refused anyway. */
function firstWith(rows: Rows, key: string, named: { row: number; employee_id: string }): number | null {
  const first = rows.get(key);
  if (first === undefined) rows.set(key, named);
  return first === undefined || first.employee_id === named.employee_id ? null : first.row;
}

/** What a spreadsheet or a conversion made of a text. */
const DAMAGES: readonly (readonly [damage: RegExp, rule: string])[] = [
  [/^\s*$/, 'is empty'],
  [/^\s|\s$/, 'begins or ends with a blank'],
  [
    /^(?:#(?:REF!|VALUE!|NAME\?|DIV\/0!|NUM!|NULL!|N\/A|SPILL!|CALC!)|#{3,})$/i,
    'is an error of a spreadsheet',
  ],
  [/^=/, 'is a formula of a spreadsheet'],
  [/^['’]\d+$/, 'begins with the apostrophe that spreadsheets put before a number that is text'],
  [
    /\uFFFD|[ÃÂ][\u0080-\u00BF]|â[\u0080\u20AC]/,
    'has characters that a conversion broke. Save the file as UTF-8',
  ],
];
/** An ID that became a number on its way. */
const DECIMAL_NUMBER = /^\d+\.0+$/;
const SHORTENED_NUMBER = /^\d(?:\.\d+)?E\+\d+$/i;

function warnOfTexts({ address, ...employee }: Employee, warn: Warn): void {
  const { employee_id, first_name, last_name, job_title } = employee;
  const { line1, line2, city } = address;
  const texts = {
    ...{ employee_id, first_name, last_name, job_title },
    ...{ 'address.line1': line1, 'address.line2': line2, 'address.city': city },
  };
  for (const [path, text] of Object.entries(texts)) {
    const damage = text === undefined ? undefined : DAMAGES.find(([pattern]) => pattern.test(text));
    if (damage !== undefined) warn(path, damage[1]);
  }
  if (SHORTENED_NUMBER.test(employee_id)) {
    warn('employee_id', 'is a number that a spreadsheet shortened. Format its column as text');
  }
  if (DECIMAL_NUMBER.test(employee_id)) {
    warn('employee_id', 'is a number with decimals. Format its column as text');
  }
}

function warnOfPhone(phone: string | undefined, warn: Warn): void {
  if (phone !== undefined && !/^\d{10}$/.test(phone)) warn('phone_number', 'does not have ten digits');
}

function warnOfSsn(ssn: string | undefined, warn: Warn, seen: (digits: string) => number | null): void {
  if (ssn === undefined) return;
  const digits = ssn.replace(/[\s-]/g, '');
  if (!/^\d{9}$/.test(digits)) {
    warn('ssn', `does not have nine digits. ${/^\d{7,8}$/.test(digits) ? LOST_ZEROS : OR_EMPTY}`);
  } else if (/^0+$/.test(digits)) warn('ssn', `is all zeros. ${OR_EMPTY}`);
  else if (/^(\d)\1+$/.test(digits)) warn('ssn', `is one digit nine times. ${OR_EMPTY}`);
  else {
    const row = seen(digits);
    if (row !== null) warn('ssn', `is the same as ${employeePath(row)}.ssn`);
  }
}

function warnOfDates(
  { dob, hire_date, termination_date }: Employee,
  { today, latest }: { today: string; latest: string },
  warn: Warn,
): void {
  if (dob > today) warn('dob', 'is after today');
  if (dob > hire_date) warn('dob', 'is after the hire date');
  if (dob <= NO_BIRTH) warn('dob', `is not after ${NO_BIRTH}, which spreadsheets write for an empty date`);
  if (hire_date < FIRST_HIRE) warn('hire_date', 'is before 1940');
  if (hire_date > latest) warn('hire_date', `is more than ${AHEAD_YEARS} years ahead`);
  if (termination_date === undefined) return;
  if (termination_date < hire_date) warn('termination_date', 'is before the hire date');
  if (termination_date > latest) warn('termination_date', `is more than ${AHEAD_YEARS} years ahead`);
}

function warnOfHours(text: string, warn: Warn): void {
  const hours = /^[+-]?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isNaN(hours)) warn('hours_worked', 'is not a number of hours');
  else if (hours <= 0) warn('hours_worked', 'is 0 or less');
  else if (hours > WEEK_HOURS) warn('hours_worked', `is above the ${WEEK_HOURS} hours of a week`);
  else if (hours >= TWO_WEEKS_HOURS) warn('hours_worked', 'is 70 or more. Is it the hours of two weeks?');
}

function warnOfRate(index: number, rate: PayRate, { dob, employment_status }: Employee, warn: Warn): void {
  const path = `pay_rate[${index}]`;
  const cents = parseAmount(rate.amount) ?? 0n;
  if (rate.period === 'hourly' && cents > HOURLY_MAX) {
    warn(`${path}.amount`, 'is above 1,000 an hour. Is it the pay of a year?');
  }
  if (rate.period === 'hourly' && cents < HOURLY_MIN) {
    warn(`${path}.amount`, 'is below 1.00 an hour. Does another column have the rate?');
  }
  if (rate.period === 'annually' && cents < YEARLY_MIN) {
    warn(`${path}.amount`, 'is below 1,000 a year. Is it the pay of an hour?');
  } else if (rate.period === 'annually' && employment_status === 'full_time' && cents < FULL_TIME_MIN) {
    warn(`${path}.amount`, 'is below 10,000 a year. Is it the pay of a paycheck?');
  }
  if (rate.effective_start < dob) warn(`${path}.effective_start`, 'is before the birth');
}

function warnOfAddress({ state, zip_code }: Employee['address'], warn: Warn): void {
  const zip = meantZip(zip_code);
  if (!/^\d{5}(?:[- ]?\d{4})?$/.test(zip_code.trim())) {
    warn('address.zip_code', `does not have five digits${zip === null ? '' : `. ${LOST_ZEROS}`}`);
  }
  if (zip !== null && !isZipOf(state, zip)) warn('address.state', 'is not the state of the ZIP code');
}
