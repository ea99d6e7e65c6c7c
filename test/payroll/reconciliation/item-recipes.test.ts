/** Tests the recipes of docs/reconciliation.md#open-items: a leave of absence, and the preview of decisions. */
import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { concernedByVoid } from '../../../src/payroll/reconciliation/concerned-by-void.ts';
import { decideItems } from '../../../src/payroll/reconciliation/decide-items.ts';
import { listItems, type ShownItem } from '../../../src/payroll/reconciliation/open-items.ts';
import { previewDecisions } from '../../../src/payroll/reconciliation/preview-decisions.ts';
import type { RequestedDecision } from '../../../src/payroll/reconciliation/requested-decisions.ts';
import { DEFAULTS, putPolicy } from '../../../src/payroll/settings/policy.ts';
import { scratch } from '../../database/scratch.ts';
import { acting } from '../../support/audit.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  EMPLOYER,
  election,
  employment,
  finalizedOn,
  LATELY,
  learn,
  linesOf,
  override,
  putOn,
  schedule,
  send,
  setSchedules,
  taken,
} from '../../support/payroll.ts';

const TODAY = LATELY.slice(0, 10);

/** e pays 130.00 for medical with each biweekly paycheck. At most the regular amount of arrears is taken from a paycheck. */
async function staged(t: Test, fields: Parameters<typeof employment>[1] = {}): Promise<Db> {
  const { db } = await scratch(t);
  await setSchedules(db, [schedule()]);
  await learn(db, employment('e', fields));
  await send(db, election('2025-12-01', { member_contribution: '130.00' }));
  const recoup = { method: 'multiple', value: '1' } as const;
  const policy = { ...DEFAULTS, recoup, effective_from: '2026-01-01' };
  await transact(db, (trx) => putPolicy(trx, EMPLOYER, policy, acting(LATELY)));
  return db;
}

const items = async (db: Db) =>
  (await listItems(db, { employerId: EMPLOYER, today: TODAY, filter: {} }, { limit: 100 })).items;
const take = ({
  id,
  outstanding_member_amount,
  outstanding_employer_amount,
}: ShownItem): RequestedDecision => ({
  item_id: id,
  action: 'take',
  outstanding_member_amount,
  outstanding_employer_amount,
});
const decide = (db: Db, ...decisions: RequestedDecision[]) =>
  decideItems(db, EMPLOYER, { decisions, reason: 'agreed' }, acting(LATELY));
const unpaid = async (db: Db, payDate: string) => {
  await finalizedOn(db, payDate);
  await taken(db, payDate, { employee_id: 'e', amount: '0.00' });
};
const amounts = async (db: Db, runId: string) =>
  (await linesOf(db, runId)).map(({ kind, member_amount }) => `${kind} ${member_amount}`);

const LEAVE = ['2026-02-13', '2026-02-27', '2026-03-13', '2026-03-27', '2026-04-10', '2026-04-24'];
const RETURN = ['2026-05-08', '2026-05-22', '2026-06-05', '2026-06-19', '2026-07-03', '2026-07-17'];

onEitherEngine('six unpaid checks are caught up at twice the regular amount', async (t) => {
  const db = await staged(t);
  await decide(db, { employee_id: 'e', action: 'hold', until: '2026-08-01' });
  for (const payDate of LEAVE) await unpaid(db, payDate);
  const held = await items(db);
  const expected = LEAVE.map(() => ({ state: 'hold', outstanding_member_amount: '130.00' }));
  t.match(held, expected);
  await putOn(db, '2026-05-08');
  t.strictSame(await amounts(db, '2026-05-08'), ['regular 130.00'], 'nothing is taken while the hold lasts');
  await decide(db, ...(await items(db)).map(take));
  for (const payDate of RETURN) {
    await finalizedOn(db, payDate);
    t.strictSame(await amounts(db, payDate), ['regular 130.00', 'arrears 130.00'], payDate);
  }
  t.strictSame(await items(db), []);
  await finalizedOn(db, '2026-07-31');
  t.strictSame(await amounts(db, '2026-07-31'), ['regular 130.00'], 'back to the regular amount');
});

onEitherEngine('a preview shows the next paycheck with decisions, and records nothing', async (t) => {
  // The run of the only pay schedule includes employees of unknown frequency.
  const db = await staged(t, { pay_frequency: null, pay_group: 'north' });
  for (const payDate of LEAVE.slice(0, 2)) await unpaid(db, payDate);
  await finalizedOn(db, '2026-07-17');
  const request = { decisions: (await items(db)).map(take), reason: 'agreed' };
  const previewed = await previewDecisions(db, EMPLOYER, request, new Date(LATELY));
  t.match(previewed, [
    {
      ...{ employee_id: 'e', pay_date: '2026-07-31' },
      ...{ before: { member_amount: '130.00' }, after: { member_amount: '260.00' } },
      item_lines: [
        { kind: 'arrears', member_amount: '130.00', explanation: /at most 1 × 130\.00 a paycheck/ },
      ],
      left_out: [{ explanation: /Left out: it is more than the policy lets a paycheck recover\.$/ }],
    },
  ]);
  const [first, second] = request.decisions as [RequestedDecision, RequestedDecision];
  const held = { ...request, decisions: [{ ...first, action: 'hold' as const }] };
  const previewedHold = await previewDecisions(db, EMPLOYER, held, new Date(LATELY));
  const left_out = [
    { item_id: first.item_id, explanation: /Left out: it is on hold\.$/ },
    { item_id: second.item_id, explanation: /Left out: it needs the decision take\.$/ },
  ];
  t.match(previewedHold, [{ item_lines: [], left_out }]);
  t.match(await items(db), [{ state: 'open' }, { state: 'open' }]);
  await setSchedules(db, []);
  const without = await previewDecisions(db, EMPLOYER, request, new Date(LATELY));
  t.match(without, [{ employee_id: 'e', pay_date: null, item_lines: [] }]);
});

onEitherEngine('a void names the decisions and overrides that concern the run', async (t) => {
  const db = await staged(t);
  await putOn(db, '2026-02-13');
  await override(db, '2026-02-13', 'e', 'a');
  await unpaid(db, '2026-02-13');
  await unpaid(db, '2026-02-27');
  await decide(db, ...(await items(db)).map(take));
  t.match(await concernedByVoid(db, '2026-02-13'), {
    decisions: [{ action: 'take', covers: 'item', item_id: 'arrears:2026-02-13:e:a:medical:pre_tax' }],
    overrides: [{ deduction_id: 'a', member_amount: '3.00' }],
  });
});
