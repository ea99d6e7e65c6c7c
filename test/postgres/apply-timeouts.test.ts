/** Applying events while PostgreSQL cancels slow statements. */
import { sql } from 'kysely';
import t from 'tap';
import type { Trx } from '../../src/database/tables.ts';
import { type Body, startApplying } from '../inbox/applying.ts';
import { deduction, syncBody } from '../inbox/bodies.ts';
import { usePostgres } from '../support/engine.ts';

usePostgres();

const sync = (name: string): Body => [name, syncBody('sync-request', name)];

/** Runs a statement that the server cancels. */
async function runTooLong(trx: Trx): Promise<void> {
  await sql`set local statement_timeout = 20`.execute(trx);
  await sql`select pg_sleep(60)`.execute(trx);
}

t.test('a batch that times out is applied in smaller and smaller halves', async (t) => {
  const aborting = new AbortController();
  const asked = new WeakMap<Trx, number>();
  const { store, loop, states, ledger, applied, logged } = await startApplying(t, {
    effects: {
      requestSync: async (trx) => {
        asked.set(trx, (asked.get(trx) ?? 0) + 1);
        if (asked.get(trx) === 3) await runTooLong(trx);
      },
    },
    onApplied: () => applied.length === 4 && aborting.abort(),
  });
  const syncs = Array.from({ length: 8 }, (_, index) => `sync-${index}`);
  await store(...syncs.map(sync), deduction('a'));
  await loop.run(aborting.signal);
  t.strictSame(
    applied.map((one) => one.applied),
    [2, 2, 2, 3],
    '8 and 4 time out, also 4 after 2 succeeded',
  );
  t.strictSame(
    await states(),
    [...syncs, 'a'].map((name) => `${name}: applied`),
  );
  t.strictSame(await ledger(), ['a']);
  t.match(logged, [/^events could not be applied: trying again .*57014/]);
});

t.test('an event that times out alone is quarantined, and later ones are applied', async (t) => {
  const aborting = new AbortController();
  let tries = 0;
  const { store, loop, states, differences, ledger } = await startApplying(t, {
    effects: {
      requestSync: async (trx, { employerId }) => {
        if (employerId !== 'slow') return;
        tries += 1;
        await runTooLong(trx);
      },
    },
    onApplied: async () => (await states()).every((state) => !state.endsWith('pending')) && aborting.abort(),
  });
  await store(deduction('a'), sync('slow'), sync('quick'), deduction('b'));
  await loop.run(aborting.signal);
  t.strictSame(await states(), [
    'a: applied',
    'slow: quarantined applying it timed out 3 times in a row (57014): reprocess it after an upgrade, or dismiss it',
    'quick: applied',
    'b: applied',
  ]);
  t.strictSame(await differences(), [], 'verify accepts its reason');
  t.strictSame(await ledger(), ['a', 'b']);
  t.ok(tries >= 3 && tries <= 6, `${tries} tries`);
});
