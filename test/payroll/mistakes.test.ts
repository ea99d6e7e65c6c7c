/** The answers of docs/mistakes.md, tried: each begins with the mistake, and shows what the next paycheck takes. */
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { type NewFact, recordFacts } from '../../src/ledger/roster.ts';
import { bringOpeningItems } from '../../src/payroll/reconciliation/opening-rows.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import {
  BIWEEKLY,
  bodyOn,
  decideItem,
  EMPLOYER,
  elected,
  election,
  employment,
  finalized,
  finalizedOn,
  LATELY,
  learn,
  lines,
  openItemsOn,
  rowsOf,
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

function bring(db: Db, id: string, member_amount: string, employee_id = 'e') {
  const item = { employee_id, id, member_amount, employer_amount: '0.00', pay_date: FIRST };
  const rows = rowsOf({ ...item, line_of_coverage: 'medical', taxability: 'pre_tax' });
  return bringOpeningItems(db, EMPLOYER, rows, acting(LATELY));
}

/** Records what a census stated on a day. */
function reported(db: Db, day: string, fact: NewFact): Promise<number> {
  const source = { source: 'census', source_id: `census-${day}` } as const;
  return transact(db, (trx) => recordFacts(trx, [fact], source, `${day}T09:00:00.000Z`));
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
    mistake: 'the amount of one employee was taken from another, who has such a line: both are reported',
    tried: async (db) => {
      await send(db, election('2025-12-01', { employee_id: 'f' }, 'f'));
      await voided(db, FIRST);
      await finalized(db, 'both', bodyOn(FIRST));
      await taken(db, 'both', { ...E, amount: '0.00' }, { employee_id: 'f', amount: '20.00', over: 'true' });
    },
    takes: ['e regular 10.00', 'e arrears 10.00', 'f regular 10.00', 'f arrears -10.00'],
  },
  {
    mistake:
      'the amount of one employee was taken from another, who has no such line: an opening item, decided',
    tried: async (db) => {
      await taken(db, FIRST, { ...E, amount: '0.00' });
      await bring(db, 'f', '-10.00', 'f');
      const [item] = (await openItemsOn(db, NEXT)).filter(({ identity }) => identity.employee_id === 'f');
      await decideItem(db, item!, { action: 'take' });
    },
    takes: ['e regular 10.00', 'e arrears 10.00', 'f arrears -10.00'],
  },
  {
    mistake: 'a hire was reported with a date too late: the right one has an item',
    tried: async (db) => {
      await send(db, election('2026-05-01', { employee_id: 'g', effective_start: '2026-01-01' }, 'g'));
      await learn(db, employment('g', { hire_date: '2026-06-12' }));
      await learn(db, employment('g', { hire_date: '2026-05-12' }));
    },
    takes: ['e regular 10.00', 'g regular 10.00', 'g adjustment 10.00'],
  },
  {
    mistake: 'an opening item was wrong: written off',
    tried: async (db) => {
      await bring(db, 'wrong', '7.00');
      await decideItem(db, await itemOf(db), { action: 'write_off', amount: 700n });
    },
    takes: ['e regular 10.00'],
  },
  {
    mistake: 'writing off was wrong: the amount is a new opening item',
    tried: async (db) => {
      await taken(db, FIRST, { ...E, amount: '4.00' });
      await decideItem(db, await itemOf(db), { action: 'write_off', amount: 600n });
      await bring(db, 'again', '6.00');
    },
    takes: ['e regular 10.00', 'e arrears 6.00'],
  },
  {
    mistake: 'the census of the wrong employer named the employee: one without them ends it',
    tried: async (db) => {
      await reported(db, '2026-06-08', employment('e', { employer_id: 'other' }));
      await reported(db, '2026-06-10', { employee_id: 'e', employer_id: 'other', absent: 1 });
    },
    takes: ['e regular 10.00'],
  },
  {
    mistake: 'a termination that did not happen was reported: a census without the date ends it',
    tried: async (db) => {
      await learn(db, employment('e', { termination_date: '2026-06-06' }));
      await learn(db, employment('e'));
    },
    takes: ['e regular 10.00'],
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
