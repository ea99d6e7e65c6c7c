import Type, { type Static, type TSchema } from 'typebox';
import { LINES_OF_COVERAGE } from '../../contract/deduction.ts';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { ROW_TYPES } from '../../formats/rows.ts';
import { ITEM_KINDS } from '../../payroll/calculation/items.ts';
import { ITEM_STATES } from '../../payroll/compute/item-state.ts';
import { type CheckedDecisions, decideItems } from '../../payroll/reconciliation/decide-items.ts';
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
  differentOpenings,
  OPENING_COLUMNS,
  OPENING_ITEMS_MAX,
  OpeningItems,
  OpeningRow,
} from '../../payroll/reconciliation/opening-rows.ts';
import { DecisionsPreview, previewDecisions } from '../../payroll/reconciliation/preview-decisions.ts';
import { DecisionsRequest, ItemId } from '../../payroll/reconciliation/requested-decisions.ts';
import { actingIn, by } from '../auth.ts';
import { passStreams, streamedRows } from '../bodies.ts';
import { viewerOf } from '../employers.ts';
import { negotiated } from '../headers.ts';
import { broken, conflict, type Refusal } from '../problem.ts';
import { limitReads } from '../read-slots.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { cursor, idFilter, LIMIT_DEFAULT, limit, pageOf } from '../schemas.ts';
import { assertNoPage, begun, interruptedOf, ndjsonOf } from '../streams.ts';
import { exceptBody } from '../validation.ts';
import { EmployerId } from './censuses.ts';
import { EmployeeId, seenEmployersOf } from './employees.ts';

/** The first one is the default. */
const OFFERED = [ROW_TYPES.json, ROW_TYPES.csv, ROW_TYPES.ndjson];

const FILTER = {
  kind: Type.Optional(field.oneOfDescribed(ITEM_KINDS, 'Only items of this kind.')),
  state: Type.Optional(
    field.oneOfDescribed(
      ITEM_STATES,
      'Only items in this state. Default: all items with an outstanding amount.',
    ),
  ),
  line_of_coverage: Type.Optional(field.oneOf(LINES_OF_COVERAGE)),
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

export function openItemRoutes(app: Api, parts: ApiParts): void {
  const { db, now, log } = parts;
  const today = () => dayAt(db, now());
  const totalItems = createItemTotals(db);
  const itemsOf = (employerId: string, query: Static<typeof Filter>): ItemsOf => ({
    employerId,
    today: today(),
    filter: {
      kind: query.kind,
      state: query.state,
      lineOfCoverage: query.line_of_coverage,
      employeeId: query.employee_id,
      olderThan: query.older_than,
    },
  });

  app.get(
    '/v1/employers/:employer_id/open-items',
    operation('Open items', 'runs:read', {
      operationId: 'listOpenItems',
      employers: 'employer',
      summary: 'List what payroll still owes or is owed',
      description:
        'Lists items by employee, and the items of an employee by pay date. They are computed from facts at each request. `Accept` selects JSON in pages, or all ' +
        'items as `text/csv` or `application/x-ndjson`. If few items match, a page may have fewer rows than `limit`, even none, and ' +
        'still a `next_cursor`, because each page is read within a bounded time.',
      params: EmployerId,
      querystring: ListQuery,
      response: {
        200: Type.Unsafe<unknown>({
          description: 'The items.',
          content: {
            [ROW_TYPES.json]: { schema: pageOf(ShownItem) },
            [ROW_TYPES.csv]: { schema: field.text('A header, then one row per item.') },
            [ROW_TYPES.ndjson]: { schema: field.text('An `OpenItem` on each line.') },
          },
        }),
      },
      refuses: ['NOT_ACCEPTABLE'],
    }),
    async (request, reply) => {
      const { params, query, headers } = request;
      const type = negotiated(headers.accept, OFFERED);
      const of = { ...itemsOf(params.employer_id, query), viewer: viewerOf(request, parts) };
      reply.header('vary', 'accept').type(type);
      if (type === ROW_TYPES.json) {
        const page = { after: itemCursor.decode(query.cursor), limit: query.limit ?? LIMIT_DEFAULT };
        const { items, next } = await listItems(db, of, page);
        return reply.send(itemCursor.page(items, next));
      }
      assertNoPage(query);
      const rows = await begun(allItems(db, of), interruptedOf(request, parts));
      return reply.send(type === ROW_TYPES.csv ? csvOfItems(rows) : ndjsonOf(rows));
    },
  );

  app.get(
    '/v1/employers/:employer_id/open-items/totals',
    operation('Open items', 'runs:read', {
      operationId: 'getOpenItemTotals',
      employers: 'employer',
      summary: 'Add up what payroll still owes or is owed',
      description:
        'Adds up the items that match, by kind and by state. After a change it takes as long as computing a run.',
      params: EmployerId,
      querystring: Filter,
      response: { 200: ItemTotals },
    }),
    async ({ params, query }) => totalItems(itemsOf(params.employer_id, query)),
  );

  app.get(
    '/v1/employees/:employee_id/open-items',
    operation('Open items', 'runs:read', {
      operationId: 'listOpenItemsOfEmployee',
      employers: 'employee',
      summary: 'List the open items of an employee',
      description: 'Lists the items with every employer that reported the employee, by employer.',
      params: EmployeeId,
      querystring: field.closed({ state: FILTER.state, limit }),
      response: { 200: pageOf(ShownItem) },
    }),
    async (request) => {
      const { employee_id } = request.params;
      const { state, limit: most = LIMIT_DEFAULT } = request.query;
      const employers = await seenEmployersOf(db, request, employee_id);
      // One more than requested shows whether there are more.
      const how = { today: today(), viewer: viewerOf(request, parts), limit: most + 1, state };
      const items = await itemsOfEmployee(db, employee_id, employers, how);
      return { data: items.slice(0, most), has_more: items.length > most, next_cursor: null };
    },
  );

  app.get(
    '/v1/employers/:employer_id/open-items/decisions',
    operation('Open items', 'runs:read', {
      operationId: 'listItemDecisions',
      employers: 'employer',
      summary: 'List the decisions about open items',
      description: 'Lists all decisions, the newest first, including decisions that a later one replaced.',
      params: EmployerId,
      querystring: field.closed({
        item_id: Type.Optional({
          ...ItemId,
          description: 'Only decisions about this item, and holds of all items of its employee.',
        }),
        employee_id: idFilter('Only decisions about items of this employee.'),
        cursor,
        limit,
      }),
      response: { 200: pageOf(ListedDecision) },
    }),
    async ({ params, query }) => {
      const filter = { itemId: query.item_id, employeeId: query.employee_id };
      return listDecisions(db, params.employer_id, filter, { ...query, limit: query.limit ?? LIMIT_DEFAULT });
    },
  );

  app.post(
    '/v1/employers/:employer_id/open-items/decisions',
    operation('Open items', 'runs:write', {
      operationId: 'decideOpenItems',
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
    }),
    async (request, reply) => {
      const { employer_id } = request.params;
      const decided = await decideItems(db, employer_id, request.body, actingIn(request, now()));
      if (decided.outcome === 'busy')
        throw conflict('Payroll data changed while the decisions were recorded. Send the request again.');
      if (decided.outcome !== 'decided') throw refusalOf(decided);
      log.info({ employer_id, count: decided.ids.length, ...by(request) }, 'open items were decided');
      return reply.code(201).send({ decision_ids: decided.ids.map(String) });
    },
  );

  app.post(
    '/v1/employers/:employer_id/open-items/decisions/preview',
    operation('Open items', 'runs:read', {
      operationId: 'previewItemDecisions',
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
    }),
    async ({ params, body }) => {
      const previewed = await previewDecisions(db, params.employer_id, body, now());
      if (!previewed.ok) throw refusalOf({ outcome: previewed.why, problems: previewed.problems });
      return { paychecks: previewed.paychecks };
    },
  );
}

type Refused = {
  outcome: Extract<CheckedDecisions, { ok: false }>['why'];
  problems: readonly { path: string; rule: string }[];
};

function refusalOf({ outcome, problems }: Refused): Refusal {
  return broken(outcome === 'changed' ? 'ITEM_CHANGED' : 'DECISION_REFUSED', problems);
}

/** Amounts that were owed before the first run, as a file. */
export function openingItemRoutes(app: Api, parts: ApiParts): void {
  const { db, now, log } = parts;
  passStreams(app, Object.values(ROW_TYPES));
  const limited = limitReads(FILES_AT_ONCE, 'files', parts);

  app.post(
    '/v1/employers/:employer_id/opening-items',
    operation('Open items', 'runs:write', {
      operationId: 'createOpeningItems',
      employers: 'employer',
      action: 'item.open',
      summary: 'Bring along what was owed before the first run',
      description:
        'Stores opening items, all or none. An item that is already stored with the same content changes nothing; with other content, the response is 409. ' +
        `Send JSON \`{"items": […]}\`, newline-delimited JSON, or CSV in UTF-8 with a header of the same names. At most ${OPENING_ITEMS_MAX} items.`,
      params: EmployerId,
      body: openingBody(OpeningRow),
      response: { 200: OpeningItems, 201: OpeningItems },
      refuses: ['TOO_SLOW', 'CONFLICT', 'ROWS_REFUSED'],
      validatorCompiler: exceptBody,
    }),
    async (request, reply) => {
      const { employer_id } = request.params;
      const acting = actingIn(request, now());
      const brought = await limited(request, (slot) =>
        bringOpeningItems(db, employer_id, streamedRows(request, slot, OPENING_COLUMNS), acting),
      );
      if (brought.outcome === 'refused')
        throw broken('ROWS_REFUSED', brought.problems, brought.problem_count);
      if (brought.outcome === 'different') throw conflict(differentOpenings(brought.ids));
      const { outcome: _, ...result } = brought;
      if (result.created.length === 0) return result;
      log.info({ employer_id, count: result.created.length, ...by(request) }, 'opening items were stored');
      return reply.code(201).send(result);
    },
  );
}

/** Files read at once. */
const FILES_AT_ONCE = 3;

function openingBody(row: TSchema) {
  const json = field.component('OpeningItemsRequest', { items: Type.Array(row, { minItems: 1 }) });
  return Type.Unsafe<unknown>({
    content: {
      [ROW_TYPES.json]: { schema: json },
      [ROW_TYPES.csv]: { schema: Type.String() },
      [ROW_TYPES.ndjson]: { schema: Type.String() },
    },
  });
}
