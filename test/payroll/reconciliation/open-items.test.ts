import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import type { Problem } from '../../../src/errors.ts';
import { decideItems } from '../../../src/payroll/reconciliation/decide-items.ts';
import { listDecisions } from '../../../src/payroll/reconciliation/decisions.ts';
import { createItemTotals, totalItems } from '../../../src/payroll/reconciliation/item-totals.ts';
import { csvOfItems } from '../../../src/payroll/reconciliation/items-csv.ts';
import {
  allItems,
  type ItemFilter,
  listItems,
  type ShownItem,
} from '../../../src/payroll/reconciliation/open-items.ts';
import { bringOpeningItems } from '../../../src/payroll/reconciliation/opening-rows.ts';
import type {
  DecisionsRequest,
  RequestedDecision,
} from '../../../src/payroll/reconciliation/requested-decisions.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { beforeTransaction } from '../../support/before-transaction.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  body,
  EMPLOYER,
  election,
  employment,
  finalized,
  type Given,
  LATELY,
  learn,
  rowsOf,
  send,
  setPolicy,
  taken,
} from '../../support/payroll.ts';

const TODAY = LATELY.slice(0, 10);
const of = (filter: ItemFilter = {}, employerId = EMPLOYER) => ({ employerId, today: TODAY, filter });

const OPENING: Given = {
  ...{ id: 'o1', employee_id: 'f', line_of_coverage: 'dental', taxability: 'post_tax' },
  ...{ member_amount: '50.00', employer_amount: '20.00', pay_date: '2025-06-01' },
};
const bring = (db: Db, ...rows: Given[]) => bringOpeningItems(db, EMPLOYER, rowsOf(...rows), acting(LATELY));

/** e owes 4.00 of January 2 and should get 1.00 back of January 16; f owes an opening item. */
async function staged(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'), employment('f'), employment('other', { employer_id: 'other' }));
  await send(db, election('2025-12-01', { taxability: 'post_tax' }));
  await finalized(db, 'r0', body(0));
  await taken(db, 'r0', { employee_id: 'e', amount: '6.00' });
  await finalized(db, 'r1', body(1));
  await send(
    db,
    election('2026-01-20', {
      taxability: 'post_tax',
      member_contribution: '9.00',
      effective_start: '2026-01-10',
    }),
  );
  await bring(db, OPENING);
  return db;
}

const test = onEitherEngine.with(staged);

const brief = ({ kind, run_id, opening_item_id, outstanding_member_amount, state }: ShownItem) =>
  `${kind} ${run_id ?? opening_item_id} ${outstanding_member_amount} ${state}`;
const list = async (db: Db, filter?: ItemFilter) => (await listItems(db, of(filter), { limit: 100 })).items;
const briefs = async (db: Db, filter?: ItemFilter) => (await list(db, filter)).map(brief);

const ARREARS = 'arrears r0 4.00 open';
const REFUND = 'adjustment r1 -1.00 open';
const BROUGHT = 'opening o1 50.00 open';

/** Decides about the first item of a kind as it is outstanding now, unless the fields differ. */
async function decide(
  db: Db,
  kind: ShownItem['kind'],
  fields: Partial<RequestedDecision> & Pick<RequestedDecision, 'action'>,
) {
  const [item] = await list(db, { kind });
  return decideItems(db, EMPLOYER, requestOf({ ...reviewed(item as ShownItem), ...fields }), acting(LATELY));
}

const reviewed = ({ id, outstanding_member_amount, outstanding_employer_amount }: ShownItem) => ({
  item_id: id,
  outstanding_member_amount,
  outstanding_employer_amount,
});
const requestOf = (...decisions: RequestedDecision[]): DecisionsRequest => ({ decisions, reason: 'agreed' });

test('items are listed by employee and pay date, with filters, totals and pages', async (t, db) => {
  t.strictSame(await briefs(db), [ARREARS, REFUND, BROUGHT]);
  const filters: [ItemFilter, string[]][] = [
    [{ kind: 'opening' }, [BROUGHT]],
    [{ employeeId: 'e' }, [ARREARS, REFUND]],
    [{ lineOfCoverage: 'dental' }, [BROUGHT]],
    [{ olderThan: 365 }, [BROUGHT]],
    [{ state: 'settled' }, []],
    [{ state: 'open', kind: 'arrears', olderThan: 189 }, []],
    [{ state: 'open', kind: 'arrears', olderThan: 188 }, [ARREARS]],
  ];
  for (const [filter, expected] of filters)
    t.strictSame(await briefs(db, filter), expected, JSON.stringify(filter));
  t.match(await totalItems(db, of()), {
    ...{ items: 3, employees: 2, outstanding_member_amount: '53.00', outstanding_employer_amount: '20.00' },
    by_kind: [
      { kind: 'arrears' },
      { kind: 'opening', outstanding_member_amount: '50.00' },
      { kind: 'adjustment' },
    ],
    by_state: [{ state: 'open', items: 3 }],
  });
  const seen: string[] = [];
  let after: { employeeId: string; listed: number } | null | undefined;
  while (after !== null) {
    const page = await listItems(db, of(), { after, limit: 1 });
    seen.push(...page.items.map(brief));
    after = page.next;
  }
  t.strictSame(seen, [ARREARS, REFUND, BROUGHT], 'page by page');
});

test('totals are kept until an event of the employer, a decision or another day, by filter', async (t, db) => {
  const totals = createItemTotals(db);
  const first = await totals(of());
  t.equal(await totals(of()), first);
  await send(db, election('2026-01-21', { employee_id: 'other' }, 'o'));
  t.equal(await totals(of()), first, 'the employee has another employer');
  t.match(await totals(of({ kind: 'opening' })), { items: 1 });
  t.not(await totals({ ...of(), today: '2027-01-01' }), first);
  await send(db, election('2026-01-21', { taxability: 'post_tax', member_contribution: '10.00' }));
  t.not(await totals(of()), first);
  await decide(db, 'opening', { action: 'hold' });
  t.match(await totals(of()), { by_state: [{ state: 'open' }, { state: 'hold', items: 1 }] });
});

test('a file has every item with its decision', async (t, db) => {
  await decide(db, 'arrears', { action: 'paid_directly', amount: '1.50', paid_on: TODAY });
  const text = (await csvOfItems(allItems(db, of())).toArray()).join('');
  const [header = '', first = ''] = text.split('\r\n').map((row) => row.split(','));
  t.equal(text.split('\r\n').length, 5, 'a header, three items, and the end');
  const cell = (name: string) => first[header.indexOf(name)];
  t.strictSame(
    ['kind', 'outstanding_member_amount', 'decision_action', 'decision_amount', 'decision_paid_on'].map(cell),
    ['arrears', '2.50', 'paid_directly', '1.50', TODAY],
  );
});

test('a decision is shown with its reason and maker', async (t, db) => {
  t.match(await decide(db, 'arrears', { action: 'write_off' }), [1]);
  t.strictSame(await briefs(db, { state: 'written_off' }), ['arrears r0 0.00 written_off']);
  await decide(db, 'opening', { action: 'paid_directly', amount: '50.00', paid_on: TODAY });
  t.match((await list(db, { kind: 'opening' }))[0], {
    ...{ state: 'paid_directly', outstanding_member_amount: '0.00', outstanding_employer_amount: '20.00' },
    decision: { action: 'paid_directly', amount: '50.00', paid_on: TODAY, reason: 'agreed', covers: 'item' },
  });
  const held = await decideItems(
    db,
    EMPLOYER,
    requestOf({ employee_id: 'e', action: 'hold', until: '2026-10-01' }),
    acting(LATELY),
  );
  t.match(held, [3]);
  t.strictSame(await briefs(db, { employeeId: 'e' }), ['adjustment r1 -1.00 hold']);
});

test('a decision on an item that a run took in the meantime is refused', async (t, db) => {
  await setPolicy(db, { open_items: 'include' });
  const [item] = await list(db, { kind: 'arrears' });
  const racing = beforeTransaction(db, () => finalized(db, 'r2', body(2)));
  const request = requestOf({ ...reviewed(item as ShownItem), action: 'hold' });
  await t.rejects(decideItems(racing, EMPLOYER, request, acting(LATELY)), {
    code: 'ITEM_CHANGED',
    problems: [{ path: 'decisions[0].outstanding_member_amount', rule: /^is 0\.00 now/ }],
  });
});

test('an item with an employer amount only is taken or held', async (t, db) => {
  await bring(db, { ...OPENING, id: 'o2', member_amount: '0.00' });
  const item = (await list(db)).find(({ opening_item_id }) => opening_item_id === 'o2') as ShownItem;
  const decided = (action: RequestedDecision['action']) =>
    decideItems(db, EMPLOYER, requestOf({ ...reviewed(item), action }), acting(LATELY));
  const problems = [{ path: 'decisions[0].action', rule: /^must be take or hold/ }];
  await t.rejects(decided('write_off'), { code: 'DECISION_REFUSED', problems });
  await decided('hold');
  await decided('take');
  t.match(await briefs(db, { state: 'take' }), ['opening o2 0.00 take']);
});

/** The refusal, its field and the beginning of its rule → the fields of the decision on arrears or an adjustment. */
const REFUSED: Record<string, Partial<RequestedDecision> & { kind?: ShownItem['kind'] }> = {
  'a take of a part: amount must be omitted for take': { action: 'take', amount: '1.00' },
  'a payment of nothing: amount must be from 0.01': { action: 'paid_directly', amount: '0', paid_on: TODAY },
  'a payment with the other sign: amount must be from -1.00 to -0.01': {
    ...{ kind: 'adjustment', action: 'paid_directly', amount: '1.00', paid_on: TODAY },
  },
  'a payment above what is outstanding: amount must be from 0.01 to 4.00': {
    ...{ action: 'paid_directly', amount: '9', paid_on: TODAY },
  },
  'a payment without an amount: amount is required': { action: 'paid_directly', paid_on: TODAY },
  'a payment without a date: paid_on is required': { action: 'paid_directly', amount: '1.00' },
  'a payment tomorrow: paid_on must not be after today': {
    ...{ action: 'paid_directly', amount: '1.00', paid_on: '2026-07-11' },
  },
  'a hold until before today: until must not be before today': { action: 'hold', until: '2026-07-09' },
  'a take with an end: until must be omitted for take': { action: 'take', until: TODAY },
  'a write-off of a part: amount must be omitted for write_off': { action: 'write_off', amount: '1.00' },
  'an unknown item: item_id must be an open item': {
    ...{ action: 'take', item_id: 'arrears:r9:e:a:medical:post_tax' },
  },
  'no item id: item_id must be an open item': { action: 'take', item_id: 'x' },
  'an item and an employee: employee_id must be omitted with item_id': { action: 'hold', employee_id: 'e' },
};

test('an impossible decision is refused with its field, and nothing is recorded', async (t, db) => {
  for (const [name, { kind = 'arrears', ...fields }] of Object.entries(REFUSED)) {
    const [, path, rule] = /: (\w+) (.*)$/.exec(name) ?? [];
    const problems = [{ path: `decisions[0].${path}`, rule: new RegExp(`^${rule}`) }];
    await t.rejects(
      decide(db, kind, fields as RequestedDecision),
      { code: 'DECISION_REFUSED', problems },
      name,
    );
  }
  const [item] = await list(db, { kind: 'arrears' });
  const good = { ...reviewed(item as ShownItem), action: 'take' } as const;
  const together: [string, RequestedDecision, string][] = [
    ['the same item twice', good, 'decisions[1].item_id'],
    ['an unknown employee', { employee_id: 'other', action: 'hold' }, 'decisions[1].employee_id'],
    ['an employee whose ID lost its case', { employee_id: 'E', action: 'hold' }, 'decisions[1].employee_id'],
    ['an employee to take', { employee_id: 'e', action: 'take' }, 'decisions[1].action'],
    ['neither item nor employee', { action: 'hold' }, 'decisions[1].item_id'],
  ];
  for (const [name, second, path] of together) {
    const refused = decideItems(db, EMPLOYER, requestOf(good, second), acting(LATELY));
    const rule = /lost/.test(name) ? 'must be an employee of the employer. The census has e' : String;
    await t.rejects(refused, { code: 'DECISION_REFUSED', problems: [{ path, rule }] }, name);
  }
  const elsewhere = decideItems(db, 'other', requestOf(good), acting(LATELY));
  await t.rejects(
    elsewhere,
    { code: 'DECISION_REFUSED', problems: [{ path: 'decisions[0].item_id' }] },
    'of another employer',
  );
  t.strictSame(await db.selectFrom('item_decisions').selectAll().execute(), []);
});

test('a decision to take or hold one item of a group is one on all', async (t, db) => {
  await send(db, election('2026-01-21', { taxability: 'pre_tax', member_contribution: '9.00' }));
  const ofGroup = async () =>
    (await list(db)).filter(({ kind, run_id }) => kind === 'adjustment' && run_id === 'r0');
  const [first, second] = (await ofGroup()).map((item) => ({ ...reviewed(item), action: 'take' as const }));
  if (first === undefined || second === undefined) throw new Error('the old and the new taxability');
  const decideAbout = (...decisions: RequestedDecision[]) =>
    decideItems(db, EMPLOYER, requestOf(...decisions), acting(LATELY));
  const statesOf = async () => (await ofGroup()).map(({ state }) => state);
  t.match(await decideAbout(second), [1, 2]);
  t.strictSame(await statesOf(), ['take', 'take']);
  t.match(await decideAbout({ ...first, action: 'hold' }, { ...second, action: 'hold' }), [3, 4]);
  t.strictSame(await statesOf(), ['hold', 'hold']);
  const rule = `must be that of ${second.item_id}: a run takes the items of a group together`;
  await t.rejects(decideAbout(first, { ...second, action: 'hold' }), {
    code: 'DECISION_REFUSED',
    problems: [{ path: 'decisions[0].action', rule }, { path: 'decisions[1].action' }],
  });
});

test('an employer that holds an employee holds no item of another employer', async (t, db) => {
  await learn(db, employment('e', { employer_id: 'other' }));
  await decide(db, 'opening', { action: 'hold' });
  const before = await briefs(db);
  const hold = requestOf({ employee_id: 'e', action: 'hold' });
  await decideItems(db, 'other', hold, acting(LATELY));
  t.strictSame(await briefs(db), before);
});

test('opening items are stored once, and refused with other content', async (t, db) => {
  const second = { ...OPENING, id: 'o2', employee_id: 'e', member_amount: '-3.00' };
  t.strictSame(await bring(db, OPENING, second), { created: ['o2'], known: 1 });
  t.strictSame(await bring(db, OPENING, second), { created: [], known: 2 });
  const others: Partial<Given>[] = [
    { employee_id: 'f' },
    { deduction_id: 'a' },
    { line_of_coverage: 'vision' },
    { taxability: 'pre_tax' },
    { member_amount: '-4.00' },
    { employer_amount: '0.00' },
    { pay_date: '2025-06-02' },
  ];
  for (const content of others)
    await t.rejects(bring(db, { ...second, ...content } as Given, { ...OPENING, id: 'o3' }), {
      code: 'CONFLICT',
      message: /other content: o2\./,
    });
  const refused: [Partial<Given>, Problem][] = [
    [
      { employee_id: 'F' },
      { path: 'lines[0].employee_id', rule: 'must be an employee of the employer. The census has f' },
    ],
    [{ employee_id: 'other' }, { path: 'lines[0].employee_id', rule: 'must be an employee of the employer' }],
    ...['none', 'a'].map((deduction_id): [Partial<Given>, Problem] => [
      { deduction_id },
      { path: 'lines[0].deduction_id', rule: 'must be a deduction of the employee' },
    ]),
    [{ member_amount: undefined as never }, { path: 'lines[0].member_amount', rule: 'is required' }],
    [{ pay_date: '2027-02-30' }, { path: 'lines[0].pay_date', rule: 'must be a real date, YYYY-MM-DD' }],
    [{ pay_date: '2026-07-11' }, { path: 'lines[0].pay_date', rule: 'must not be after today, 2026-07-10' }],
    [
      { member_amount: '0', employer_amount: '0' },
      { path: 'lines[0].member_amount', rule: 'must not be zero on both sides' },
    ],
  ];
  for (const [fields, problem] of refused)
    await t.rejects(bring(db, { ...OPENING, ...fields } as Given), {
      code: 'ROWS_REFUSED',
      problems: [problem],
    });
  await t.rejects(bring(db, second, second), { code: 'ROWS_REFUSED', problems: [{ path: 'lines[1].id' }] });
  t.match(await bring(db, { ...second, id: 'o3', pay_date: TODAY }), { created: ['o3'] });
  t.equal((await db.selectFrom('opening_items').selectAll().execute()).length, 3);
});

test('decisions are listed newest first, in pages, with holds of the employee', async (t, db) => {
  const [arrears] = await list(db, { kind: 'arrears' });
  const { id: itemId } = arrears as ShownItem;
  await decide(db, 'arrears', { action: 'paid_directly', amount: '3.00', paid_on: TODAY });
  await decide(db, 'opening', { action: 'write_off' });
  const hold = requestOf({ employee_id: 'e', action: 'hold' });
  await decideItems(db, EMPLOYER, hold, acting(LATELY));
  await decide(db, 'arrears', { action: 'hold' });
  const listed = async (filter: Parameters<typeof listDecisions>[2], employer = EMPLOYER) =>
    (await listDecisions(db, employer, filter, { limit: 10 })).data.map(
      ({ id, employee_id, item_id, action }) =>
        `${id} ${employee_id} ${action}${item_id === null ? ' all' : ''}`,
    );
  const ofArrears = ['4 e hold', '3 e hold all', '1 e paid_directly'];
  t.strictSame(await listed({}), ['4 e hold', '3 e hold all', '2 f write_off', '1 e paid_directly']);
  t.strictSame(await listed({ itemId }), ofArrears);
  t.strictSame(await listed({ employeeId: 'e' }), ofArrears);
  t.strictSame(await listed({ itemId, employeeId: 'f' }), []);
  t.strictSame(await listed({ itemId: 'none' }), []);
  t.strictSame(await listed({}, 'other'), []);
  const first = await listDecisions(db, EMPLOYER, { itemId }, { limit: 2 });
  t.match(first, { data: [{ id: '4' }, { id: '3' }], has_more: true });
  const cursor = first.next_cursor as string;
  t.match(await listDecisions(db, EMPLOYER, { itemId }, { cursor, limit: 2 }), {
    data: [{ id: '1', amount: '3.00', item_id: itemId, decided_by: { kind: 'system' } }],
    has_more: false,
  });
});
