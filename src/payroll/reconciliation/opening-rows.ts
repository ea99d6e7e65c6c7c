/** Reads rows of opening items from a body or a file, and stores all of them or none. */
import Type, { type Static } from 'typebox';
import { didYouMean } from '../../contract/check.ts';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { component, text } from '../../contract/fields.ts';
import { isDay } from '../../contract/instant.ts';
import { meantAmount, meantChoice, meantDate } from '../../contract/meant.ts';
import type { Db } from '../../database/tables.ts';
import { dayAt } from '../../database/time-zone.ts';
import { transact } from '../../database/transaction.ts';
import {
  type Columns,
  createProblems,
  type GivenRow,
  type Problems,
  type Rows,
  readableRows,
} from '../../formats/rows.ts';
import { censusHas, nearIds } from '../../ledger/near-ids.ts';
import { employeesKnownAt } from '../../ledger/roster.ts';
import { deductionsKnownTo, type Viewer } from '../../ledger/visibility.ts';
import { AMOUNT_RULE, parseAmount } from '../../money.ts';
import type { Acting } from '../../security/audit.ts';
import { type OpeningItem, putOpeningItems } from '../facts/opening-items.ts';

export const OPENING_COLUMNS: Columns = {
  list: 'items',
  required: [
    'id',
    'employee_id',
    'line_of_coverage',
    'taxability',
    'member_amount',
    'employer_amount',
    'pay_date',
  ],
  optional: ['deduction_id'],
};

export const OpeningRow = component(
  'OpeningItem',
  {
    id: text('An ID of your choice, unique for the employer.'),
    employee_id: text('The employee.'),
    deduction_id: Type.Optional(text('The deduction, if it is known.')),
    line_of_coverage: text('The line of coverage, such as medical.'),
    taxability: text('pre_tax or post_tax.'),
    member_amount: text(
      'The amount that the employee owes, such as 12.34. Negative: the employee gets it back.',
    ),
    employer_amount: text('The amount that the employer owes.'),
    pay_date: text('The pay date of the paycheck that left it out: today or earlier.'),
  },
  'An amount that was owed before the first run.',
);

export const OpeningItems = component(
  'OpeningItemsResult',
  {
    created: Type.Array(Type.String(), { description: 'The IDs that were stored.' }),
    known: Type.Integer({ description: 'The number of items that were already stored with this content.' }),
  },
  'The stored opening items.',
);

/** Rows of one request: they are one transaction, which holds the write lock of SQLite. */
export const OPENING_ITEMS_MAX = 5_000;

/**
 * Stores opening items of an employer. Items that are already stored with the same content change nothing. `viewer`: a caller
 * limited to employers, or null. Throws ROWS_REFUSED or CONFLICT.
 */
export async function bringOpeningItems(
  db: Db,
  employerId: string,
  rows: Rows,
  acting: Acting,
  viewer: Viewer | null = null,
): Promise<Static<typeof OpeningItems>> {
  const problems = createProblems();
  const today = dayAt(db, acting.now);
  const items: { path: string; item: OpeningItem }[] = [];
  for await (const some of readableRows(rows, OPENING_COLUMNS, problems, OPENING_ITEMS_MAX + 1)) {
    for (const row of some) {
      const item = itemOf(row, today, problems);
      if (item !== null) items.push({ path: row.path, item });
    }
    if (items.length <= OPENING_ITEMS_MAX) continue;
    problems.add({ path: 'items', rule: `must have at most ${OPENING_ITEMS_MAX} elements` });
    break;
  }
  await addUnknown(db, employerId, items, problems, viewer);
  problems.assertNone();
  const openings = items.map(({ item }) => item);
  const created = await transact(db, (trx) => putOpeningItems(trx, employerId, openings, acting));
  return { created, known: openings.length - created.length };
}

function itemOf({ path, fields }: GivenRow, today: string, problems: Problems): OpeningItem | null {
  const wrong = (name: string, rule: string, meant: string | null = null) =>
    problems.add({ path: `${path}.${name}`, rule, ...didYouMean(meant) });
  const missing = OPENING_COLUMNS.required.filter((name) => fields[name] === undefined);
  for (const name of missing) wrong(name, 'is required');
  const { id = '', employee_id = '', deduction_id = null, line_of_coverage = '', taxability = '' } = fields;
  const { pay_date = '' } = fields;
  const [member, employer] = [fields.member_amount, fields.employer_amount].map((amount) =>
    amount === undefined ? null : parseAmount(amount),
  );
  const rules: [name: string, isRight: boolean, rule: string, meant?: string | null][] = [
    ['id', id.length <= ID_MAX_CHARACTERS, `must have at most ${ID_MAX_CHARACTERS} characters`],
    [
      'line_of_coverage',
      LINES_OF_COVERAGE.some((known) => known === line_of_coverage),
      `must be one of ${LINES_OF_COVERAGE.join(', ')}`,
      meantChoice(LINES_OF_COVERAGE, line_of_coverage),
    ],
    [
      'taxability',
      TAXABILITIES.some((known) => known === taxability),
      `must be one of ${TAXABILITIES.join(', ')}`,
      meantChoice(TAXABILITIES, taxability),
    ],
    ['member_amount', member != null, AMOUNT_RULE, meantAmount(fields.member_amount ?? '')],
    ['employer_amount', employer != null, AMOUNT_RULE, meantAmount(fields.employer_amount ?? '')],
    ['member_amount', member !== 0n || employer !== 0n, 'must not be zero on both sides'],
    ['pay_date', isDay(pay_date), 'must be a real date, YYYY-MM-DD', meantDate(pay_date)],
    // No later paycheck can have left out what was owed before the first run.
    ['pay_date', !isDay(pay_date) || pay_date <= today, `must not be after today, ${today}`],
  ];
  const broken = rules.filter(([name, isRight]) => !missing.includes(name) && !isRight);
  for (const [name, , rule, meant] of broken) wrong(name, rule, meant);
  if (missing.length + broken.length > 0 || member == null || employer == null) return null;
  return {
    ...{ opening_id: id, employee_id, deduction_id, line_of_coverage, taxability, pay_date },
    amount: { member, employer },
  };
}

/** Maximum length of an id; an index row of PostgreSQL has room for it. */
const ID_MAX_CHARACTERS = 255;

/** Adds the problems of repeated ids, of employees never known at the employer, and of deductions of other employees. */
async function addUnknown(
  db: Db,
  employerId: string,
  items: readonly { path: string; item: OpeningItem }[],
  problems: Problems,
  viewer: Viewer | null,
): Promise<void> {
  const employees = await employeesKnownAt(
    db,
    employerId,
    items.map(({ item }) => item.employee_id),
  );
  const deductionIds = items.flatMap(({ item }) => item.deduction_id ?? []);
  const deductions = await deductionsKnownTo(viewer, db, employerId, deductionIds);
  const unknown = items.map(({ item }) => item.employee_id).filter((id) => !employees.has(id));
  const near = await nearIds(db, unknown, [employerId]);
  const seen = new Set<string>();
  for (const { path, item } of items) {
    const { opening_id, employee_id, deduction_id } = item;
    if (seen.has(opening_id)) problems.add({ path: `${path}.id`, rule: 'must be named once' });
    seen.add(opening_id);
    if (!employees.has(employee_id)) {
      const rule = `must be an employee of the employer${censusHas(near.get(employee_id))}`;
      problems.add({ path: `${path}.employee_id`, rule });
    }
    if (deduction_id !== null && deductions.get(deduction_id)?.has(employee_id) !== true)
      problems.add({ path: `${path}.deduction_id`, rule: 'must be a deduction of the employee' });
  }
}
