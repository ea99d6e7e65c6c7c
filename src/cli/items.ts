/** The commands of open items: what payroll still owes or is owed, and decisions about it. */

import { Option } from 'commander';
import { LINES_OF_COVERAGE } from '../contract/deduction.ts';
import type { Db } from '../database/tables.ts';
import { amountOf, type Cents, dollars } from '../money.ts';
import { ITEM_KINDS, itemIdentity } from '../payroll/calculation/items.ts';
import { ITEM_STATES } from '../payroll/compute/item-state.ts';
import { ITEM_ACTIONS, type ItemAction } from '../payroll/facts/decisions.ts';
import { decideItems } from '../payroll/reconciliation/decide-items.ts';
import { type ListedDecision, listDecisions } from '../payroll/reconciliation/decisions.ts';
import { type ItemTotals, totalItems } from '../payroll/reconciliation/item-totals.ts';
import {
  type ItemFilter,
  type ItemsOf,
  itemCursor,
  listItems,
  type ShownItem,
} from '../payroll/reconciliation/open-items.ts';
import {
  bringOpeningItems,
  differentOpenings,
  OPENING_COLUMNS,
} from '../payroll/reconciliation/opening-rows.ts';
import { type PreviewedPaycheck, previewDecisions } from '../payroll/reconciliation/preview-decisions.ts';
import type { RequestedDecision } from '../payroll/reconciliation/requested-decisions.ts';
import { amount, day, findRowsFile, ROWS_FILE, wholeNumber } from './arguments.ts';
import { actingIn, type Command, type Context, confirm, type PageOptions, todayIn } from './command.ts';
import { failed, impossible, inputRefused, wrongUsage } from './failure.ts';
import { type Column, counted, type Output, printPage, printResult, printTable } from './output.ts';

export function addItemCommands(program: Command): void {
  const items = program.subcommand('items', 'Show and decide what payroll still owes or is owed.');
  const list = items
    .subcommand('list', 'List open items by employee: what is outstanding, and what was decided.')
    .records('none')
    .examples(
      'items list --employer maple-bakery',
      'items list --employer maple-bakery --kind arrears --older-than 90',
      'items list --employer maple-bakery --employee maple-bakery-001 --wide',
    );
  withFilter(list)
    .page()
    .doesOnDatabase(async (context, options: FilterOptions & PageOptions) => {
      const { db, out } = context;
      const { cursor, limit } = options;
      const page = { after: itemCursor.decode(cursor), limit };
      const { items, next } = await listItems(db, itemsOf(context, options), page);
      const none = next === null ? 'No open items.' : 'No matching items so far.';
      printPage(out, itemCursor.page(items, next), { columns: COLUMNS, rows: items, none });
    });
  const totals = items
    .subcommand('totals', 'Add up open items by kind and by state.')
    .records('none')
    .examples('items totals --employer maple-bakery');
  withFilter(totals)
    .table()
    .doesOnDatabase(async (context, options: FilterOptions) => {
      const { db, out } = context;
      const sums = await totalItems(db, itemsOf(context, options));
      printResult(out, sums, () => printTotals(out, sums));
    });
  items
    .subcommand('decisions', 'List the decisions about open items, the newest first.')
    .records('none')
    .examples(
      'items decisions --employer maple-bakery',
      'items decisions --employer maple-bakery --item arrears:mb-2026-07:maple-bakery-001:ded_01J2Q7:medical:pre_tax',
    )
    .employer()
    .option('--item <id>', 'Only this item, with holds of all items of its employee')
    .option('--employee <id>', 'Only items of this employee')
    .page()
    .doesOnDatabase(async ({ db, out }, options: DecisionsOptions & PageOptions) => {
      const { employer, item, employee, cursor, limit } = options;
      const filter = { itemId: item, employeeId: employee };
      const page = await listDecisions(db, employer, filter, { cursor, limit });
      printPage(out, page, { columns: DECISION_COLUMNS, rows: page.data, none: 'No decisions.' });
    });
  items
    .subcommand('decide', 'Decide about open items: all that are named, or none.')
    .records('item.decide')
    .examples(
      'items decide --employer maple-bakery --item arrears:mb-2026-07:maple-bakery-001:ded_01J2Q7:medical:pre_tax --action take --reason "agreed with the employee"',
      'items decide --employer maple-bakery --employee maple-bakery-001 --action hold --until 2026-10-01 --reason "leave of absence"',
    )
    .employer()
    .option('--item <id...>', 'Open items, as "items list" prints their ids')
    .option('--employee <id>', 'All items of this employee; a hold also covers later ones')
    .addOption(ACTION)
    .option('--amount <amount>', 'The amount paid directly', amount)
    .option('--until <date>', 'The last day on which the hold counts', day)
    .option('--paid-on <date>', 'The date of the payment outside payroll', day)
    .option('--preview', 'Show the next paychecks with the decisions, and record nothing')
    .reason('Why; stored with the decision')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, options: DecideOptions) => {
      const { db, out } = context;
      const { employer, reason, action } = options;
      const decisions = await requestedDecisions(db, options, todayIn(context));
      if (options.preview) {
        const previewed = await previewDecisions(db, employer, { decisions, reason }, context.now());
        if (!previewed.ok) throw impossible(previewed.problems);
        const { paychecks } = previewed;
        printResult(out, { paychecks }, () => printTable(out, PREVIEW_COLUMNS, paychecks));
        return;
      }
      if (action === 'write_off' || action === 'paid_directly') {
        const effects = decisions.map(
          ({ item_id, outstanding_member_amount = '', amount: paid = outstanding_member_amount }) =>
            `${item_id}: ${dollars(paid)} of ${dollars(outstanding_member_amount)}`,
        );
        await confirm(
          context,
          effects,
          `Record ${counted(decisions.length, 'decision')}? It cannot be undone.`,
        );
      }
      const decided = await decideItems(db, employer, { decisions, reason }, actingIn(context));
      if (decided.outcome === 'busy')
        throw failed('payroll data changed while the decisions were recorded: decide again');
      if (decided.outcome !== 'decided') throw impossible(decided.problems);
      const decision_ids = decided.ids.map(String);
      printResult(out, { decision_ids }, `Recorded ${counted(decision_ids.length, 'decision')}: ${action}`);
    });
  items
    .subcommand(
      'open',
      'Bring along what was owed before the first run. The same file again changes nothing.',
    )
    .records('item.open')
    .examples('items open opening.csv --employer maple-bakery')
    .argument('<file>', `A ${ROWS_FILE} of opening items`)
    .employer()
    .json()
    .doesOnDatabase(async (context, path: string, { employer }: { employer: string }) => {
      const { db, out } = context;
      const file = await findRowsFile(path);
      const brought = await bringOpeningItems(db, employer, file.open(OPENING_COLUMNS), actingIn(context));
      if (brought.outcome === 'refused') throw inputRefused('the file', brought);
      if (brought.outcome === 'different') throw failed(differentOpenings(brought.ids));
      const { created, known } = brought;
      const done = `Stored ${counted(created.length, 'opening item')}; ${known} known before`;
      printResult(out, { created, known }, done);
    });
}

const ACTION = new Option('--action <action>', 'What to do with them (required)')
  .choices(ITEM_ACTIONS)
  .makeOptionMandatory();

type FilterOptions = {
  employer: string;
  employee?: string;
  lineOfCoverage?: string;
  olderThan?: number;
} & Pick<ItemFilter, 'kind' | 'state'>;

type DecisionsOptions = { employer: string; item?: string; employee?: string };

type DecideOptions = {
  employer: string;
  item?: string[];
  employee?: string;
  action: ItemAction;
  amount?: Cents;
  until?: string;
  paidOn?: string;
  reason: string;
  preview?: true;
};

const PREVIEW_COLUMNS: readonly Column<PreviewedPaycheck>[] = [
  ['employee', ({ employee_id }) => employee_id],
  ['next pay date', ({ pay_date }) => pay_date ?? 'none'],
  ['employee pays', ({ before }) => dollars(before.member_amount)],
  ['with decisions', ({ after }) => dollars(after.member_amount)],
  ['items taken', ({ item_lines }) => item_lines.map(({ explanation }) => explanation).join(' '), 1],
];

function withFilter(command: Command): Command {
  return command
    .employer()
    .option('--employee <id>', 'Only this employee')
    .choice('--kind <kind>', 'Only this kind', ITEM_KINDS)
    .choice('--state <state>', 'Only this state (default: with an outstanding amount)', ITEM_STATES)
    .choice('--line-of-coverage <line>', 'Only this line of coverage', LINES_OF_COVERAGE)
    .option('--older-than <days>', 'Only items older than this', wholeNumber(0, 36_600)) as Command;
}

function itemsOf(context: Context, options: FilterOptions): ItemsOf {
  const { employer, employee, kind, state, lineOfCoverage, olderThan } = options;
  const filter = { kind, state, lineOfCoverage, employeeId: employee, olderThan };
  return { employerId: employer, today: todayIn(context), filter };
}

/** Items of one employee that are read to decide about some of them. */
const ITEMS_OF_EMPLOYEE = 10_000;

/** Returns the decisions that the options name, for the amounts that are outstanding now. */
async function requestedDecisions(
  db: Db,
  { employer, item: ids = [], employee, action, ...options }: DecideOptions,
  today: string,
): Promise<RequestedDecision[]> {
  if ((ids.length === 0) === (employee === undefined)) throw wrongUsage('use either --item or --employee');
  const { amount: part, until, paidOn } = options;
  const fields = {
    action,
    ...(part !== undefined && { amount: amountOf(part) }),
    ...(until !== undefined && { until }),
    ...(paidOn !== undefined && { paid_on: paidOn }),
  };
  if (employee !== undefined && action === 'hold') return [{ employee_id: employee, ...fields }];
  const employees = new Set(
    [employee ?? [], ids.flatMap((id) => itemIdentity(id)?.employee_id ?? [])].flat(),
  );
  const items = new Map<string, ShownItem>();
  for (const employeeId of employees) {
    const of = { employerId: employer, today, filter: { employeeId } };
    const page = await listItems(db, of, { limit: ITEMS_OF_EMPLOYEE });
    for (const item of page.items) items.set(item.id, item);
  }
  if (employee !== undefined && items.size === 0)
    throw failed(`${employee} has no item with an outstanding amount`);
  const chosen = employee === undefined ? ids : [...items.keys()];
  return chosen.map((item_id) => {
    const item = items.get(item_id);
    if (item === undefined)
      throw failed(
        `${item_id} is no item with an outstanding amount: list them with "benefits-sidecar items list"`,
      );
    const { outstanding_member_amount, outstanding_employer_amount } = item;
    return { item_id, outstanding_member_amount, outstanding_employer_amount, ...fields };
  });
}

const COLUMNS: readonly Column<ShownItem>[] = [
  ['employee', ({ employee_id }) => employee_id],
  ['kind', ({ kind }) => kind],
  ['pay date', ({ pay_date }) => pay_date],
  ['coverage', ({ line_of_coverage }) => line_of_coverage],
  ['taxability', ({ taxability }) => taxability, 5],
  ['outstanding', (item) => dollars(item.outstanding_member_amount)],
  ['employer', (item) => dollars(item.outstanding_employer_amount), 4],
  ['state', stateOf],
  ['reason', ({ decision }) => decision?.reason, 6],
  ['item', ({ id }) => id, 7],
];

const DECISION_COLUMNS: readonly Column<ListedDecision>[] = [
  ['decided', ({ decided_at }) => decided_at],
  ['employee', ({ employee_id }) => employee_id],
  ['action', ({ action }) => action],
  ['amount', ({ amount: part }) => (part === null ? undefined : dollars(part))],
  ['until', ({ until }) => until, 3],
  ['paid on', ({ paid_on }) => paid_on, 5],
  ['by', ({ decided_by }) => decided_by.name, 2],
  ['reason', ({ reason }) => reason, 1],
  ['item', ({ item_id }) => item_id ?? 'all items', 6],
];

function stateOf({ state, reopened, needs_decision }: ShownItem): string {
  if (reopened !== null) return `${state}: ${reopened}`;
  return state === 'open' && needs_decision ? 'needs a decision' : state;
}

type ItemSum = Pick<
  ItemTotals,
  'items' | 'employees' | 'outstanding_member_amount' | 'outstanding_employer_amount'
>;

function printTotals(out: Output, totals: ItemTotals): void {
  const columns: readonly Column<ItemSum & { name: string }>[] = [
    ['', ({ name }) => name],
    ['items', ({ items }) => items],
    ['employees', ({ employees }) => employees],
    ['outstanding', (sum) => dollars(sum.outstanding_member_amount)],
    ['employer', (sum) => dollars(sum.outstanding_employer_amount)],
  ];
  printTable(out, columns, [
    ...totals.by_kind.map((sum) => ({ ...sum, name: sum.kind })),
    ...totals.by_state.map((sum) => ({ ...sum, name: `all ${sum.state}` })),
    { ...totals, name: 'total' },
  ]);
}
