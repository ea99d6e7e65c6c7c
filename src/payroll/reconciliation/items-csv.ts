/** Open items as CSV. */
import type { Readable } from 'node:stream';
import { csvOf, harmless } from '../../formats/csv.ts';
import { ItemDecision, type ShownItem } from './open-items.ts';

/** The columns of a file of items. New columns are added at the end. */
const CSV_FIELDS = [
  ...(['id', 'employer_id', 'employee_id', 'kind', 'state', 'run_id', 'opening_item_id'] as const),
  ...(['pay_date', 'age_days', 'deduction_id', 'line_of_coverage', 'taxability'] as const),
  ...([
    'member_amount',
    'employer_amount',
    'outstanding_member_amount',
    'outstanding_employer_amount',
  ] as const),
  ...(['needs_decision', 'reopened', 'explanation'] as const),
] satisfies readonly (keyof ShownItem)[];

/** The columns of a decision, in the order of its schema. The last column, `decided_by`, is the name of who decided. */
const { id: _, covers, decided_by, ...DECISION } = ItemDecision.properties;
const CSV_DECISION = Object.keys(DECISION) as (keyof typeof DECISION)[];

/** Returns items as CSV in UTF-8, each with its decision. */
export function csvOfItems(pages: AsyncIterable<readonly ShownItem[]>): Readable {
  const header = [...CSV_FIELDS, 'flags', ...CSV_DECISION.map((name) => `decision_${name}`), 'decided_by'];
  return csvOf(header, pages, (item) => [
    ...CSV_FIELDS.map((name) => cellOf(name, item[name])),
    item.flags.join(' '),
    ...CSV_DECISION.map((name) => cellOf(name, item.decision?.[name] ?? null)),
    harmless(item.decision?.decided_by.name ?? ''),
  ]);
}

/** Amounts stay numbers, also negative ones. */
function cellOf(name: string, value: string | number | boolean | null): string {
  const text = value === null ? '' : String(value);
  return name.endsWith('amount') || typeof value === 'number' ? text : harmless(text);
}
