/** What payroll still owes or is owed, decisions about it, and amounts that were owed before the first run. */
import Type, { type Static } from 'typebox';
import { LINES_OF_COVERAGE } from '../../contract/deduction.ts';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { LIMIT_DEFAULT } from '../../formats/cursor.ts';
import { ITEM_KINDS } from '../../payroll/calculation/items.ts';
import { ITEM_STATES } from '../../payroll/compute/item-state.ts';
import { decideItems } from '../../payroll/reconciliation/decide-items.ts';
import { ListedDecision, listDecisions } from '../../payroll/reconciliation/decisions.ts';
import { createItemTotals, ItemTotals } from '../../payroll/reconciliation/item-totals.ts';
import { csvOfItems } from '../../payroll/reconciliation/items-csv.ts';
import {
  allItems,
  type ItemsOf,
  itemCursor,
  itemsOfEmployee,
  listItems,
  ShownItem,
} from '../../payroll/reconciliation/open-items.ts';
import {
  bringOpeningItems,
  OPENING_COLUMNS,
  OPENING_ITEMS_MAX,
  OpeningItems,
  OpeningRow,
} from '../../payroll/reconciliation/opening-rows.ts';
import { DecisionsPreview, previewDecisions } from '../../payroll/reconciliation/preview-decisions.ts';
import { DecisionsRequest, ItemId } from '../../payroll/reconciliation/requested-decisions.ts';
import { actingIn } from '../auth.ts';
import { viewerOf } from '../employers.ts';
import { oncePer } from '../once-per.ts';
import { created, operation, type Parts } from '../operation.ts';
import { cursor, EmployerId, fileOf, idFilter, limit, pageOf } from '../schemas.ts';
import { EmployeeId, seenEmployersOf } from './employees.ts';

const FILTER = {
  kind: Type.Optional(field.oneOfDescribed(ITEM_KINDS, 'Only items of this kind.')),
  state: Type.Optional(
    field.oneOfDescribed(
      ITEM_STATES,
      'Only items in this state. Default: all items with an outstanding amount.',
    ),
  ),
  line_of_coverage: Type.Optional(
    field.oneOfDescribed(LINES_OF_COVERAGE, 'Only items of this line of coverage.'),
  ),
  employee_id: idFilter('Only items of this employee.'),
  older_than: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 36_600,
      rule: 'must be a number of days from 0 to 36600',
      description: 'Only items whose pay date is more than this number of days ago.',
    }),
  ),
};
const Filter = field.closed(FILTER);
const ListQuery = field.closed({ ...FILTER, cursor, limit });

const Decided = field.component(
  'ItemDecisionsResult',
  {
    decision_ids: Type.Array(Type.String(), {
      description: 'The IDs of the recorded decisions, in the order of the request.',
    }),
  },
  'The recorded decisions.',
);

/** A decision names an item in a few hundred bytes. */
const DECISIONS_BYTES_MAX = 3 * 1024 * 1024;

type Query = Static<typeof Filter>;

const today = ({ db, now }: Parts): string => dayAt(db, now());

function itemsOf(employerId: string, query: Query, parts: Parts): ItemsOf {
  const filter = {
    kind: query.kind,
    state: query.state,
    lineOfCoverage: query.line_of_coverage,
    employeeId: query.employee_id,
    olderThan: query.older_than,
  };
  return { employerId, today: today(parts), filter };
}

export const listOpenItems = operation({
  id: 'listOpenItems',
  method: 'GET',
  path: '/v1/employers/:employer_id/open-items',
  scope: 'runs:read',
  employers: 'employer',
  summary: 'List what payroll still owes or is owed',
  description:
    'Lists items by employee, and the items of an employee by pay date. They are computed from facts at each request. If few items match, a page may have fewer rows than `limit`, even none, and ' +
    'still a `next_cursor`, because each page is read within a bounded time.',
  params: EmployerId,
  query: ListQuery,
  response: { 200: pageOf(ShownItem) },
  async run({ params, query, caller }, parts) {
    const of = { ...itemsOf(params.employer_id, query, parts), viewer: viewerOf({ caller }, parts) };
    const page = { after: itemCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
    const { items, next } = await listItems(parts.db, of, page);
    return itemCursor.page(items, next);
  },
  async files({ params, query, caller }, parts) {
    const of = { ...itemsOf(params.employer_id, query, parts), viewer: viewerOf({ caller }, parts) };
    return { rows: allItems(parts.db, of), csv: csvOfItems };
  },
});

const totalsOf = oncePer(createItemTotals);

export const getOpenItemTotals = operation({
  id: 'getOpenItemTotals',
  method: 'GET',
  path: '/v1/employers/:employer_id/open-items/totals',
  scope: 'runs:read',
  employers: 'employer',
  summary: 'Add up what payroll still owes or is owed',
  description:
    'Adds up the items that match, by kind and by state. After a change it takes as long as computing a run.',
  params: EmployerId,
  query: Filter,
  response: { 200: ItemTotals },
  run: async ({ params, query }, parts) => totalsOf(parts.db)(itemsOf(params.employer_id, query, parts)),
});

export const listOpenItemsOfEmployee = operation({
  id: 'listOpenItemsOfEmployee',
  method: 'GET',
  path: '/v1/employees/:employee_id/open-items',
  scope: 'runs:read',
  employers: 'employee',
  summary: 'List the open items of an employee',
  description: 'Lists the items with every employer that reported the employee, by employer.',
  params: EmployeeId,
  query: field.closed({ state: FILTER.state, limit }),
  response: { 200: pageOf(ShownItem) },
  refuses: ['NOT_FOUND'],
  async run({ params: { employee_id }, query, caller }, parts) {
    const { state, limit: most = LIMIT_DEFAULT } = query;
    const employers = await seenEmployersOf(parts.db, { caller }, employee_id);
    // One more than requested shows whether there are more.
    const how = { today: today(parts), viewer: viewerOf({ caller }, parts), limit: most + 1, state };
    const items = await itemsOfEmployee(parts.db, employee_id, employers, how);
    return { data: items.slice(0, most), has_more: items.length > most, next_cursor: null };
  },
});

export const listItemDecisions = operation({
  id: 'listItemDecisions',
  method: 'GET',
  path: '/v1/employers/:employer_id/open-items/decisions',
  scope: 'runs:read',
  employers: 'employer',
  summary: 'List the decisions about open items',
  description: 'Lists all decisions, the newest first, including decisions that a later one replaced.',
  params: EmployerId,
  query: field.closed({
    item_id: Type.Optional({
      ...ItemId,
      description: 'Only decisions about this item, and holds of all items of its employee.',
    }),
    employee_id: idFilter('Only decisions about items of this employee.'),
    cursor,
    limit,
  }),
  response: { 200: pageOf(ListedDecision) },
  run({ params, query }, { db }) {
    const filter = { itemId: query.item_id, employeeId: query.employee_id };
    return listDecisions(db, params.employer_id, filter, query);
  },
});

export const decideOpenItems = operation({
  id: 'decideOpenItems',
  method: 'POST',
  path: '/v1/employers/:employer_id/open-items/decisions',
  scope: 'runs:write',
  employers: 'employer',
  action: 'item.decide',
  summary: 'Decide about open items',
  description:
    'Records decisions about one or many items, all or none. Each item is sent with the outstanding amounts that were reviewed; if ' +
    'they changed since, the response is 409 with the new amounts. A `hold` may name an employee instead of items: it covers items that arise while it lasts. ' +
    'A `take` or `hold` of one item of a group is recorded for all of its items. A later decision replaces an earlier one; `write_off` and `paid_directly` keep counting.',
  params: EmployerId,
  body: DecisionsRequest,
  response: { 201: Decided },
  refuses: ['CONFLICT', 'ITEM_CHANGED', 'DECISION_REFUSED'],
  bodyLimit: DECISIONS_BYTES_MAX,
  async run(call, { db, now }) {
    const ids = await decideItems(db, call.params.employer_id, call.body, actingIn(call, now()));
    return created({ decision_ids: ids.map(String) });
  },
  logs: ({ params }, { decision_ids }) => [
    { employer_id: params.employer_id, count: decision_ids.length },
    'open items were decided',
  ],
});

export const previewItemDecisions = operation({
  id: 'previewItemDecisions',
  method: 'POST',
  path: '/v1/employers/:employer_id/open-items/decisions/preview',
  scope: 'runs:read',
  employers: 'employer',
  action: 'none',
  summary: 'Preview decisions about open items',
  description:
    'Computes the next paycheck of each employee with and without the decisions, and records nothing. It is the paycheck of the first pay date ' +
    'from today on without a finalized run.',
  params: EmployerId,
  body: DecisionsRequest,
  response: { 200: DecisionsPreview },
  refuses: ['ITEM_CHANGED', 'DECISION_REFUSED', 'RUN_REFUSED'],
  bodyLimit: DECISIONS_BYTES_MAX,
  async run({ params, body }, { db, now }) {
    return { paychecks: await previewDecisions(db, params.employer_id, body, now()) };
  },
});

const OpeningItemsRequest = field.component('OpeningItemsRequest', {
  items: Type.Array(OpeningRow, { minItems: 1 }),
});

export const createOpeningItems = operation({
  id: 'createOpeningItems',
  method: 'POST',
  path: '/v1/employers/:employer_id/opening-items',
  scope: 'runs:write',
  employers: 'employer',
  action: 'item.open',
  summary: 'Bring along what was owed before the first run',
  description:
    'Stores opening items, all or none. An item that is already stored with the same content changes nothing; with other content, the response is 409. ' +
    `Send JSON \`{"items": […]}\`, newline-delimited JSON, or CSV in UTF-8 with a header of the same names. At most ${OPENING_ITEMS_MAX} items.`,
  params: EmployerId,
  body: fileOf(OpeningItemsRequest),
  rows: OPENING_COLUMNS,
  response: { 200: OpeningItems, 201: OpeningItems },
  refuses: ['TOO_SLOW', 'CONFLICT', 'ROWS_REFUSED'],
  async run(call, parts) {
    const { db, now } = parts;
    const [acting, viewer] = [actingIn(call, now()), viewerOf(call, parts)];
    const result = await bringOpeningItems(db, call.params.employer_id, call.body(), acting, viewer);
    return result.created.length === 0 ? result : created(result);
  },
  logs: ({ params }, { created: { length } }) =>
    length === 0 ? null : [{ employer_id: params.employer_id, count: length }, 'opening items were stored'],
});
