/** The decisions on open items, as the API and the command line list them. */
import type { Static } from 'typebox';
import { component, nullable, nullableText, oneOfDescribed, text } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { EMPTY_PAGE, type ListPage, type PageRequest } from '../../formats/cursor.ts';
import { ITEM_KINDS, itemIdentity } from '../calculation/items.ts';
import { newestDecisions } from '../facts/decisions.ts';
import { ItemDecision, viewDecision } from './open-items.ts';

export const ListedDecision = component(
  'ListedItemDecision',
  {
    employee_id: text('The employee.'),
    item_id: nullableText('The open item. Null for a hold that covers all items of the employee.'),
    kind: nullable(oneOfDescribed(ITEM_KINDS, 'The kind of the item. Null without an item.')),
    run_id: nullableText('The earlier run. Null without one.'),
    deduction_id: nullableText('The deduction. Null without one.'),
    line_of_coverage: nullableText('The line of coverage. Null without an item.'),
    taxability: nullableText('Whether the deduction is taken before or after taxes. Null without an item.'),
    ...ItemDecision.properties,
  },
  'A decision, and what it is about.',
);
export type ListedDecision = Static<typeof ListedDecision>;

/**
 * Returns a page of the decisions of an employer, the newest first. With `itemId`, it has the decisions on this item and the
 * holds of all items of its employee.
 */
export async function listDecisions(
  db: Db,
  employerId: string,
  { itemId, employeeId }: { itemId?: string | undefined; employeeId?: string | undefined },
  request: PageRequest,
): Promise<ListPage<ListedDecision>> {
  const ofItem = itemId === undefined ? undefined : itemIdentity(itemId)?.employee_id;
  const employees = [...new Set([ofItem, employeeId])].filter((id) => id !== undefined);
  const isImpossible = (itemId !== undefined && ofItem === undefined) || employees.length > 1;
  if (isImpossible) return EMPTY_PAGE;
  const filter = { itemId: itemId ?? null, employeeId: employees[0] ?? null };
  const page = await newestDecisions(db, employerId, filter, request);
  const data = page.data.map(({ made, ...decision }): ListedDecision => {
    const { employee_id, item_id, run_id } = decision;
    const identity = item_id === null ? null : itemIdentity(item_id);
    return {
      ...{ employee_id, item_id, run_id },
      kind: identity?.kind ?? null,
      deduction_id: identity?.deduction_id ?? null,
      line_of_coverage: identity?.line_of_coverage ?? null,
      taxability: identity?.taxability ?? null,
      ...viewDecision(decision, made.by),
    };
  });
  return { ...page, data };
}
