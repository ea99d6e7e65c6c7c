/** The commands of open items: what payroll still owes or is owed, and decisions about it. */
import type { TSchema } from 'typebox';
import type { BodyOf, ResultOf } from '../api/operation.ts';
import {
  createOpeningItems,
  decideOpenItems,
  getOpenItemTotals,
  listItemDecisions,
  listOpenItems,
  previewItemDecisions,
} from '../api/operations/open-items.ts';
import { dollars } from '../money.ts';
import { itemIdentity } from '../payroll/calculation/items.ts';
import { type Command, confirm } from './command.ts';
import { failed, wrongUsage } from './failure.ts';
import { addField, addOperation } from './operation-command.ts';
import { fieldsOf, namedBy } from './operation-fields.ts';
import type { OperationContext } from './operation-run.ts';
import { type Column, counted, employeeId, type Output, printResult, printTable } from './output.ts';

const OLDER = { older_than: '--older-than <days>' };

export function addItemCommands(program: Command): void {
  const items = program.subcommand('items', 'Show and decide what payroll still owes or is owed.');
  addOperation(items, 'list', listOpenItems, {
    examples: [
      '--employer maple-bakery',
      '--employer maple-bakery --kind arrears --older-than 90',
      '--employer maple-bakery --employee maple-bakery-001 --csv',
    ],
    flags: OLDER,
    columns: COLUMNS,
    none: ({ has_more }) => (has_more ? 'No matching items so far.' : 'No open items.'),
  });
  addOperation(items, 'totals', getOpenItemTotals, {
    examples: ['--employer maple-bakery'],
    flags: OLDER,
    print: printTotals,
  });
  addOperation(items, 'decisions', listItemDecisions, {
    examples: [
      '--employer maple-bakery',
      '--employer maple-bakery --item arrears:mb-2026-07:maple-bakery-001:ded_01J2Q7:medical:pre_tax',
    ],
    columns: DECISION_COLUMNS,
    none: 'No decisions.',
  });
  addOperation(items, 'decide', decideOpenItems, {
    description: 'Decide about open items: all that are named, or none.',
    examples: [
      '--employer maple-bakery --item arrears:mb-2026-07:maple-bakery-001:ded_01J2Q7:medical:pre_tax --action take --reason "agreed with the employee"',
      '--employer maple-bakery --employee maple-bakery-001 --action hold --until 2026-10-01 --reason "leave of absence"',
    ],
    without: ['decisions'],
    ofEach: DECIDED.map((field) => ({ ...field, name: `decisions[].${field.name}` })),
    more: (command) => {
      command
        .confirmed()
        .option('--item <id...>', 'Open items, as "items list" prints their IDs')
        .option('--employee <id>', 'All items of this employee; a hold also covers later ones');
      for (const field of TERMS) addField(command, field, field.isRequired ? 'required' : null);
      command.option('--preview', 'Show the next paychecks with the decisions, and record nothing');
    },
    async input(context, { params, body }, options: DecideOptions) {
      const decisions = await requestedDecisions(context, options);
      const input = { params, body: { ...body, decisions } };
      if (options.preview === true) {
        const { paychecks } = await context.perform(previewItemDecisions, input);
        printResult(context.out, { paychecks }, () => printTable(context.out, PREVIEW_COLUMNS, paychecks));
        return null;
      }
      if (options.action === 'write_off' || options.action === 'paid_directly') {
        const effects = decisions.map(
          ({ item_id, outstanding_member_amount = '', amount: paid = outstanding_member_amount }) =>
            `${item_id}: ${dollars(paid)} of ${dollars(outstanding_member_amount)}`,
        );
        const question = `Record ${counted(decisions.length, 'decision')}? It cannot be undone.`;
        await confirm(context, effects, question);
      }
      return input;
    },
    print: (out, { decision_ids }, { action }) =>
      out.print(`Recorded ${counted(decision_ids.length, 'decision')}: ${action}`),
  });
  addOperation(items, 'open', createOpeningItems, {
    description: 'Bring along what was owed before the first run. The same file again changes nothing.',
    examples: ['opening.csv --employer maple-bakery'],
    file: 'opening items',
    print: (out, { created, known }) =>
      out.print(`Stored ${counted(created.length, 'opening item')}; ${known} known before`),
  });
}

/** The fields of a decision that options set. */
const DECIDED = fieldsOf({ body: decideOpenItems.body?.properties.decisions.items as TSchema }, {}).filter(
  ({ name }) => !/^(item_id|outstanding_\w+)$/.test(name),
);
/** Its terms: the same without the employee. */
const TERMS = DECIDED.filter(({ name }) => name !== 'employee_id');

type DecideOptions = Pick<Decision, 'action'> & {
  employer: string;
  item?: string[];
  employee?: string;
  preview?: true;
};

/** Items of one employee that are read at once to decide about some of them. */
const PAGE = 1_000;

/** Returns the decisions that the options name, for the amounts that are outstanding now. */
async function requestedDecisions(
  { perform }: OperationContext,
  options: DecideOptions,
): Promise<Decision[]> {
  const { employer, item: ids = [], employee, action } = options;
  if ((ids.length === 0) === (employee === undefined)) throw wrongUsage('use either --item or --employee');
  const terms = namedBy(TERMS, options).body as Pick<Decision, 'action'>;
  if (employee !== undefined && action === 'hold') return [{ employee_id: employee, ...terms }];
  const employees = [employee ?? [], ids.flatMap((id) => itemIdentity(id)?.employee_id ?? [])].flat();
  const items = new Map<string, ShownItem>();
  for (const employee_id of new Set(employees)) {
    let cursor: string | null | undefined;
    do {
      const query = { employee_id, limit: PAGE, ...(cursor && { cursor }) };
      const page = await perform(listOpenItems, { params: { employer_id: employer }, query });
      for (const item of page.data) items.set(item.id, item);
      cursor = page.next_cursor;
    } while (cursor !== null);
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
    return { item_id, outstanding_member_amount, outstanding_employer_amount, ...terms };
  });
}

type Decision = BodyOf<typeof decideOpenItems>['decisions'][number];
type ShownItem = ResultOf<typeof listOpenItems>['data'][number];
type ListedDecision = ResultOf<typeof listItemDecisions>['data'][number];
type ItemTotals = ResultOf<typeof getOpenItemTotals>;
type PreviewedPaycheck = ResultOf<typeof previewItemDecisions>['paychecks'][number];

const PREVIEW_COLUMNS: readonly Column<PreviewedPaycheck>[] = [
  ['employee', employeeId],
  ['next pay date', ({ pay_date }) => pay_date ?? 'none'],
  ['employee pays', ({ before }) => dollars(before.member_amount)],
  ['with decisions', ({ after }) => dollars(after.member_amount)],
  ['items taken', ({ item_lines }) => item_lines.map(({ explanation }) => explanation).join(' '), 1],
  ['left out', ({ left_out }) => left_out.map(({ explanation }) => explanation).join(' '), 1],
];

const COLUMNS: readonly Column<ShownItem>[] = [
  ['employee', employeeId],
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
  ['employee', employeeId],
  ['action', ({ action }) => action],
  ['amount', ({ amount: part }) => (part === null ? undefined : dollars(part))],
  ...TERMS.filter(({ schema }) => schema.format === 'date').map(
    ({ name }): Column<ListedDecision> => [
      name.replaceAll('_', ' '),
      (decision) => decision[name as 'until'],
      3,
    ],
  ),
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
