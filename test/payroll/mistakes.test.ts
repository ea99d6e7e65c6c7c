/** The answers of docs/mistakes.md, tried: each begins with the mistake, and shows what the next paycheck takes. */
import type { Db } from '../../src/database/tables.ts';
import { onEitherEngine } from '../support/engine.ts';
import {
  BIWEEKLY,
  bodyOn,
  decideItem,
  elected,
  election,
  employment,
  finalized,
  finalizedOn,
  learn,
  lines,
  openItemsOn,
  schedule,
  send,
  setPolicy,
  setSchedules,
  taken,
  voided,
} from '../support/payroll.ts';

const [FIRST, NEXT] = ['2026-06-05', '2026-06-19'];
const E = { employee_id: 'e' };

/** Returns what the next paycheck takes from `e`, and from `f` after it. */
async function next(db: Db): Promise<string[]> {
  const taking = await lines(db, bodyOn(NEXT));
  return taking.map((line) => `${line.employee_id} ${line.kind} ${line.member_amount}`);
}

async function itemOf(db: Db) {
  const [item] = (await openItemsOn(db, NEXT)).filter(({ line }) => line.amounts.member !== 0n);
  return item!;
}

type Answer = { mistake: string; tried: (db: Db) => Promise<unknown>; takes: string[] };
const ANSWERS: readonly Answer[] = [
  {
    mistake: 'payroll took less: the rest is arrears',
    tried: (db) => taken(db, FIRST, { ...E, amount: '4.00' }),
    takes: ['e regular 10.00', 'e arrears 6.00'],
  },
  {
    mistake: 'payroll took more: it goes back',
    tried: (db) => taken(db, FIRST, { ...E, amount: '13.00', over: 'true' }),
    takes: ['e regular 10.00', 'e arrears -3.00'],
  },
  {
    mistake: 'a report was loaded twice: nothing changes',
    tried: async (db) => {
      await taken(db, FIRST, { ...E, amount: '4.00' });
      await taken(db, FIRST, { ...E, amount: '4.00' });
    },
    takes: ['e regular 10.00', 'e arrears 6.00'],
  },
  {
    mistake: 'a report was wrong: the later one counts',
    tried: async (db) => {
      await taken(db, FIRST, { ...E, amount: '0.00' });
      await taken(db, FIRST, { ...E, amount: '10.00' });
    },
    takes: ['e regular 10.00'],
  },
  {
    mistake:
      'the run was wrong and people were paid: the next run takes the difference, once a person decided',
    tried: async (db) => {
      await send(db, election('2026-06-10', { member_contribution: '12.00', effective_start: '2026-01-01' }));
      await decideItem(db, await itemOf(db), { action: 'take' });
    },
    takes: ['e regular 12.00', 'e adjustment 2.00'],
  },
  {
    mistake: 'the run was wrong and nobody was paid: void it and run again under another id',
    tried: async (db) => {
      await voided(db, FIRST);
      await send(db, election('2026-06-10', { member_contribution: '12.00', effective_start: '2026-01-01' }));
      await finalized(db, 'again', bodyOn(FIRST));
    },
    takes: ['e regular 12.00'],
  },
  {
    mistake: 'the deduction should have ended: the next run returns it, once a person decided',
    tried: async (db) => {
      await send(db, election('2026-06-10', { effective_end: '2026-05-01' }));
      await decideItem(db, await itemOf(db), { action: 'take' });
    },
    takes: ['e regular 0.00', 'e adjustment -10.00'],
  },
  {
    mistake: 'someone was left out: the next run has an item',
    tried: async (db) => {
      await learn(db, employment('g'));
      await send(db, election('2026-05-01', { employee_id: 'g', effective_start: '2026-01-01' }, 'g'));
    },
    takes: ['e regular 10.00', 'g regular 10.00', 'g adjustment 10.00'],
  },
  {
    mistake: 'a decision was wrong: the later one counts',
    tried: async (db) => {
      await taken(db, FIRST, { ...E, amount: '4.00' });
      await decideItem(db, await itemOf(db), { action: 'take' });
      await decideItem(db, await itemOf(db), { action: 'hold' });
    },
    takes: ['e regular 10.00'],
  },
];

for (const { mistake, tried, takes } of ANSWERS) {
  onEitherEngine(`after a mistake: ${mistake}`, async (t) => {
    const db = await elected(t);
    await setSchedules(db, [schedule({ pay_dates: BIWEEKLY })]);
    await setPolicy(db, { open_items: 'include', recoup: { method: 'all' } });
    await finalizedOn(db, FIRST);
    await tried(db);
    t.strictSame(await next(db), takes);
  });
}
