/** Repairs the cells of one field of a file, by the rules that its schema allows. */
import { compile } from '../contract/check.ts';
import { type Meaning, meantDate, meantFor, periodOfRate } from '../contract/meant.ts';
import type { Problem } from '../errors.ts';
import { bareOf } from './csv.ts';
import { type FileKind, type RepairRule, schemaOf } from './file-format.ts';
import { periodOfHeader } from './usual-headers.ts';
import { DAYS_BETWEEN_SYSTEMS } from './workbook/cell-text.ts';

/** Words for no value, in fields whose values are not names. */
const NO_VALUE = /^(?:n[./]?a\.?|none|null|nil|-+|\.)$/i;

/** Zeros, words and masks instead of an SSN. */
const NO_SSN = /^(?:[0 -]+|\D+|[x*#• -]+\d{4})$/i;

/** Words for a sex that is unknown, or is neither choice. */
const NO_SEX =
  /^(?:x|u|o|nb|other|unknown|unspecified|undisclosed|non-?binary|not \w+|(?:decline|prefer) .+)$/i;

/** Zeros, or the punctuation of a number without its digits. */
const NO_PHONE = /^[0 ()+./-]+$/;

/** Spreadsheets mark a number or an ID that is stored as a text: `="0123"` and `'A123`. Our own files have `'-1`, which `asWritten` reads. */
const TEXT_MARK = /^="([^"]*)"$|^['’](?=(?:[A-Za-z_][A-Za-z_-]*)?\d[\w-]*$)/;

/** An empty date, as databases and spreadsheets write it. */
const NO_DATE = /^(?:0{1,4}([/.-])0{1,2}\1(?:0{4}|0{1,2})|0|0?1\/0?0\/1900)$/;

/** The fields whose date ends something, and the dates that databases write for no end: `1900-01-01`, `9999-12-31`. */
const END_FIELDS: ReadonlySet<string> = new Set(['termination_date', 'effective_end']);
const isNoEnd = (written: string): boolean => {
  const date = meantDate(written);
  return date !== null && (date <= '1900-01-01' || date >= '2200-01-01');
};

/** The contract accepts these in any form, so an accepted text may have lost its zeros. */
const ALWAYS_READ: ReadonlySet<unknown> = new Set<Meaning>(['ssn', 'zip', 'phone']);

type Repaired = { value: string; rule: RepairRule | null };

/** Remembers what repeated values mean. Most columns have few different ones. */
const REMEMBERED_MAX = 1_000;

type Dates = { today: string; is1904: boolean };

/** Returns a function that repairs the cells of a field. */
export function cellRepair(
  kind: FileKind,
  field: string,
  { today, is1904 }: Dates,
): (cell: string) => Repaired {
  const schema = schemaOf(kind, field);
  const { meant, format, enum: values } = (schema ?? {}) as Record<string, unknown>;
  const checker = schema === undefined ? null : compile(schema);
  const hasMeaning = meant !== undefined || format !== undefined || values !== undefined;
  const isOptional = !kind.required.includes(field);
  const read = (cell: string): Repaired => {
    const bare = bareOf(bareOf(cell).replace(TEXT_MARK, '$1'));
    const written: Repaired = { value: bare, rule: bare === cell ? null : 'blanks' };
    if (!hasMeaning || checker === null) return written;
    if (END_FIELDS.has(field) && isNoEnd(bare)) return { value: '', rule: 'no-value' };
    if (!ALWAYS_READ.has(meant) && checker.accepts(bare)) return written;
    // Otherwise, the rule `ssn` adds zeros at the front.
    if (meant === 'ssn' && NO_SSN.test(bare)) return { value: '', rule: 'no-value' };
    if (meant === 'phone' && isOptional && NO_PHONE.test(bare)) return { value: '', rule: 'no-value' };
    const asIn1900 = meantFor(schema as object, bare, today);
    const isLater = is1904 && asIn1900?.rule === 'date-serial';
    const repaired = isLater
      ? meantFor(schema as object, String(Number(bare) + DAYS_BETWEEN_SYSTEMS), today)
      : asIn1900;
    // A column with a day before its month may have other dates that were read month first.
    if (repaired !== null && repaired.rule !== 'date-day-first') return repaired;
    if (field === 'biological_sex' && NO_SEX.test(bare)) return { value: '', rule: 'no-value' };
    const isNoDate = format !== undefined && format !== 'email' && NO_DATE.test(bare);
    if (isOptional && (isNoDate || NO_VALUE.test(bare))) return { value: '', rule: 'no-value' };
    return written;
  };
  const remembered = new Map<string, Repaired>();
  return (cell) => {
    let repaired = remembered.get(cell);
    if (repaired !== undefined) return repaired;
    repaired = read(cell);
    if (remembered.size < REMEMBERED_MAX) remembered.set(cell, repaired);
    return repaired;
  };
}

const RATE = /^pay_rate\[\d+\]\.amount$/;
const OF = { annually: 'a year', hourly: 'an hour' };

/**
 * Returns a function that returns the problem of a pay rate whose unit, as in `$25.00 /hr` or in the header `Annual Salary`, is not
 * the period of its row.
 */
export function rateChecker(
  columns: readonly { field: string; index: number }[],
  names: readonly string[],
  fields: readonly string[],
) {
  const rates = columns.flatMap(({ field, index }) => {
    if (!RATE.test(field)) return [];
    const at = fields.indexOf(field.replace(/amount$/, 'period'));
    return [{ field, index, at, unitOfAll: periodOfHeader(names[index] ?? '') }];
  });
  return (cells: readonly string[], values: readonly string[]): Problem | null => {
    for (const { field, index, at, unitOfAll } of rates) {
      const cell = cells[index] ?? '';
      const unit = cell === '' ? null : (periodOfRate(cell) ?? unitOfAll);
      if (unit !== null && unit !== values[at])
        return { path: field, rule: `is the pay of ${OF[unit]}, and the period of its row is another one` };
    }
    return null;
  };
}
