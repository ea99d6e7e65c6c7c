/** What happened counts in the order of its own times, not in the order in which it was received. */
import { deepStrictEqual } from 'node:assert/strict';
import t from 'tap';
import { PAY_FREQUENCIES } from '../../../src/contract/employee.ts';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { recordFacts } from '../../../src/ledger/roster.ts';
import { lineRecord } from '../../../src/payroll/calculation/line.ts';
import { scratch } from '../../database/scratch.ts';
import {
  body,
  daysAfter,
  EMPLOYER,
  employ,
  event,
  finalized,
  itemsIn,
  lines,
  send,
} from '../../support/payroll.ts';
import fc from '../../support/seeded.ts';

const START = '2026-01-01';

const election = fc.record({
  kind: fc.constant('election' as const),
  deduction: fc.constantFrom('d0', 'd1'),
  member_contribution: fc.constantFrom('150.00', '33.33', '0'),
  line_of_coverage: fc.constantFrom('medical' as const, 'dental' as const),
  taxability: fc.constantFrom('pre_tax' as const, 'post_tax' as const),
  starts: fc.integer({ min: -20, max: 60 }),
  ends: fc.option(fc.integer({ min: 10, max: 120 })),
});

const job = fc.record({
  kind: fc.constant('job' as const),
  pay_frequency: fc.constantFrom('biweekly' as const, 'biweekly' as const, ...PAY_FREQUENCIES),
  pay_group: fc.constantFrom(null, 'g'),
});

const happened = fc.oneof({ arbitrary: election, weight: 3 }, { arbitrary: job, weight: 1 });
type Happened = (typeof happened extends fc.Arbitrary<infer H> ? H : never) & { id: number };

/** Events and facts before a finalized run and after it, in the order of their times and in the order of their receipt. */
const histories = fc.tuple(
  ...[0, 10].map((from) =>
    fc
      .array(happened, { minLength: 2, maxLength: 6 })
      .map((list) => list.map((one, index) => ({ ...one, id: from + index })))
      .chain((list) =>
        fc.record({
          inOrder: fc.constant(list),
          shuffled: fc.shuffledSubarray(list, { minLength: list.length }),
        }),
      ),
  ),
);

async function receive(db: Db, one: Happened): Promise<void> {
  if (one.kind === 'election') {
    const { deduction, id, starts, ends, kind: _, ...fields } = one;
    const dates = {
      effective_start: `${daysAfter(START, starts)}T00:00:00Z`,
      ...(ends !== null && { effective_end: `${daysAfter(START, starts + ends)}T00:00:00Z` }),
    };
    const sent = `2026-01-02T12:00:${String(id).padStart(2, '0')}Z`;
    const received = event(deduction, sent, { ...fields, ...dates, employee_id: 'e' });
    return send(db, { ...received, eventId: `event-${id}` });
  }
  const { pay_frequency, pay_group, id } = one;
  const fact = { employee_id: 'e', employer_id: EMPLOYER, pay_frequency, pay_group };
  const source = { source: 'compensation-change', source_id: `change-${id}` } as const;
  const effective_on = daysAfter(START, 3 * id);
  await transact(db, (trx) =>
    recordFacts(trx, [{ ...fact, effective_on }], source, `${START}T00:00:00.000Z`),
  );
}

/** What is of the order of receipt: numbers of versions, and the record since which an amount is due, in fields and in words. */
const OF_RECEIPT = ['version', 'because', 'explanation'];

function withoutReceipt(key: string, value: unknown): unknown {
  if (OF_RECEIPT.includes(key)) return undefined;
  return typeof value === 'bigint' ? String(value) : value;
}

t.test('amounts, flags and ids are equal in any order of receipt', async (t) => {
  await fc.assert(
    fc.asyncProperty(histories, async (parts) => {
      const results = [];
      for (const order of ['inOrder', 'shuffled'] as const) {
        const { db } = await scratch(t);
        await employ(db, 'e');
        const [before = [], after = []] = parts.map((part) => part[order]);
        for (const one of before) await receive(db, one);
        await finalized(db, 'first', body(0));
        for (const one of after) await receive(db, one);
        const items = (await itemsIn(db, body(1))).map((item) => ({ ...item, line: lineRecord(item.line) }));
        const shown = [await lines(db, body(1)), await lines(db, body(2)), items];
        results.push(JSON.parse(JSON.stringify(shown, withoutReceipt)));
      }
      deepStrictEqual(results[1], results[0]);
    }),
    { numRuns: 20 },
  );
});
