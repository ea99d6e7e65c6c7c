import type { Db } from '../../../src/database/tables.ts';
import { placeholderId } from '../../../src/ledger/placeholders.ts';
import { scratch } from '../../database/scratch.ts';
import { onEitherEngine } from '../../support/engine.ts';
import {
  body,
  decideItem,
  election,
  employment,
  finalized,
  itemsIn,
  learn,
  lines,
  linesOf,
  send,
  verified,
} from '../../support/payroll.ts';

const test = onEitherEngine.with(scratch);

const P = placeholderId({ employee_id: 'e', line_of_coverage: 'medical', taxability: 'pre_tax' });

/** An employee with a placeholder of 10.00, which the runs of January 16 and 30 took. */
async function staged(db: Db): Promise<void> {
  await learn(db, employment('e'));
  await send(db, election('2025-12-01', {}, P));
  for (const place of [1, 2]) await finalized(db, `r${place}`, body(place));
}

const brief = (all: Awaited<ReturnType<typeof lines>>) =>
  all.map((line) => `${line.deduction_id} ${line.member_amount}`);

test('a paycheck takes a placeholder until its replacement starts, and never both', async (t, { db }) => {
  await staged(db);
  await send(
    db,
    election('2026-02-01', { member_contribution: '12.00', effective_start: '2026-02-14' }, 'ded'),
  );
  t.strictSame(brief(await lines(db, body(3))), [`${P} 10.00`], 'the pay date before the start');
  await finalized(db, 'r3', body(3));
  const [line, ...others] = await lines(db, body(4));
  t.match(line, {
    ...{ deduction_id: 'ded', member_amount: '12.00' },
    ...{ change: 'replaced', replaces_deduction_id: P },
  });
  t.strictSame(others, []);
  t.strictSame(await itemsIn(db, body(4)), []);
});

/** The start of a replacement that is sent after both runs → the runs that it adjusts. */
const STARTS: [string | null, string[]][] = [
  ['2026-01-20', ['r2']],
  [null, ['r1', 'r2']],
];

for (const [effective_start, runs] of STARTS) {
  const from = effective_start ?? 'the beginning';
  test(`a replacement from ${from} adjusts finalized runs by the difference`, async (t, { db }) => {
    await staged(db);
    const sent = election('2026-02-01', { member_contribution: '12.00', effective_start }, 'ded');
    await send(db, sent);
    for (const item of await itemsIn(db, body(3))) await decideItem(db, item, { action: 'take' });
    const adjustments = await lines(db, body(3), 'adjustment');
    t.strictSame(
      adjustments.map((line) => [
        line.deduction_id,
        line.adjustment_for,
        line.member_amount,
        line.because?.id,
      ]),
      [
        ...runs.map((run) => ['ded', run, '12.00', sent.eventId]),
        ...runs.map((run) => [P, run, '-10.00', sent.eventId]),
      ],
    );
    t.strictSame(brief(await linesOf(db, 'r2')), [`${P} 10.00`], 'the final run is as it was');
    for (const run of ['r1', 'r2']) t.match(await verified(db, run), { differences: [] });
  });
}
