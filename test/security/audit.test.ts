import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { record, recordAll, recordsOf, SYSTEM, tokenActor } from '../../src/security/audit.ts';
import { readHead } from '../../src/security/audit-chain.ts';
import { verifyAudit } from '../../src/security/verify-audit.ts';
import { altering } from '../cli/alter.ts';
import { scratch } from '../database/scratch.ts';
import { ACTING, acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';

const AT = '2026-07-01T09:30:00.000Z';

onEitherEngine('a record keeps who acted, when, on what, and why', async (t) => {
  const { db } = await scratch(t);
  const actor = tokenActor({ tokenId: 'tok_1', name: 'payroll' }, 'Zoë 🙂');
  const made = {
    action: 'census-sync.dismiss',
    resource: 's/1',
    employer: 'acme',
    details: { before: null, after: [1] },
    reason: 'the employer left',
  } as const;
  t.equal(await transact(db, (trx) => record(trx, { actor, now: AT }, made)), 1);
  t.equal(
    await transact(db, (trx) => record(trx, acting(AT), { action: 'event.reprocess', resource: null })),
    2,
  );
  const page = await recordsOf(db, { type: 'census-sync', id: 's/1' }, { limit: 1 });
  t.strictSame(page, {
    records: [
      {
        id: '1',
        recorded_at: AT,
        actor: { kind: 'token', issuer: null, id: 'tok_1', name: 'payroll', acting_user: 'Zoë 🙂' },
        action: 'census-sync.dismiss',
        resource_type: 'census-sync',
        resource_id: 's/1',
        employer_id: 'acme',
        employee_id: null,
        details: { before: null, after: [1] },
        reason: 'the employer left',
        reason_erased: false,
        hash: page.records[0]?.hash,
      },
    ],
    next: null,
  });
});

onEitherEngine('records of a resource are paged in order', async (t) => {
  const { db } = await scratch(t);
  for (const action of ['event.dismiss', 'event.reprocess', 'event.dismiss'] as const)
    await transact(db, (trx) => record(trx, ACTING, { action, resource: 'e' }));
  const first = await recordsOf(db, { type: 'event', id: 'e' }, { limit: 2 });
  t.match(first, { records: [{ id: '1', actor: SYSTEM }, { id: '2' }], next: 2 });
  const rest = await recordsOf(db, { type: 'event', id: 'e' }, { after: 2, limit: 2 });
  t.match(rest, { records: [{ id: '3', action: 'event.dismiss' }], next: null });
});

onEitherEngine('a transaction that fails leaves no record and no gap', async (t) => {
  const { db } = await scratch(t);
  const made = { action: 'event.dismiss', resource: 'e' } as const;
  const failing = transact(db, async (trx) => {
    await record(trx, ACTING, made);
    throw new Error('refused');
  });
  await t.rejects(failing, { message: 'refused' });
  t.equal(await transact(db, (trx) => record(trx, ACTING, made)), 1);
});

onEitherEngine('ids follow the order of commits without gaps, however many act at once', async (t) => {
  const { db } = await scratch(t);
  const made = { action: 'event.dismiss', resource: 'e' } as const;
  await Promise.all(Array.from({ length: 20 }, () => transact(db, (trx) => record(trx, ACTING, made))));
  const { records } = await recordsOf(db, { type: 'event', id: 'e' }, { limit: 100 });
  t.strictSame(
    records.map(({ id }) => Number(id)),
    Array.from({ length: 20 }, (_, index) => index + 1),
  );
});

onEitherEngine('audit records are append-only', async (t) => {
  const { db } = await scratch(t);
  await transact(db, (trx) => record(trx, ACTING, { action: 'event.dismiss', resource: 'e' }));
  const change = () => transact(db, (trx) => trx.updateTable('audit_records').set({ reason: 'x' }).execute());
  const remove = () => transact(db, (trx) => trx.deleteFrom('audit_records').execute());
  await t.rejects(change(), /audit_records are append-only/);
  await t.rejects(remove(), /audit_records are append-only/);
  t.match(await recordsOf(db, { type: 'event', id: 'e' }, { limit: 1 }), { records: [{ reason: null }] });
});

onEitherEngine('the chain has the same hashes on both engines', async (t) => {
  const { db } = await scratch(t);
  const actor = tokenActor({ tokenId: 'tok_1', name: 'payroll\ud800' }, 'Zoë 🙂');
  await transact(db, (trx) =>
    recordAll(trx, [
      { ...acting(AT), action: 'event.reprocess', resource: null, details: { count: 1, type: 'ü"' } },
      { actor, now: AT, action: 'change.retry', resource: 'c\ud800', employer: 'acme', employee: 'e' },
    ]),
  );
  const { record_id, hash } = await readHead(db);
  t.strictSame([record_id, hash], [2, 'ecf54e2fceb331b62f57cf89ec3badf805f83592a6acb59bb96f57fedddc5825']);
  t.strictSame(await differencesIn(db), []);
});

onEitherEngine('verification names a record that was altered or removed', async (t) => {
  const { db, url } = await scratch(t);
  const made = { action: 'event.dismiss', resource: 'e', reason: 'a test' } as const;
  for (let count = 0; count < 3; count += 1) await transact(db, (trx) => record(trx, ACTING, made));
  t.strictSame(await differencesIn(db), []);
  const by = await altering(t, url);
  const set = (value: string) => by.run(`update audit_records set ${value} where record_id = 2`);
  await set("reason = 'another'");
  t.strictSame(await differencesIn(db), ['2 reason']);
  await set('reason = null, reason_key = null');
  t.strictSame(await differencesIn(db), [], 'an erased reason is no difference');
  await set("employee_id = 'another'");
  t.strictSame(await differencesIn(db), ['2 hash']);
  await by.run('delete from audit_records where record_id = 2');
  t.strictSame(await differencesIn(db), ['3 record_id', '3 hash']);
  await by.run('delete from audit_records where record_id = 3');
  t.strictSame(await differencesIn(db), ['1 record_id']);
});

async function differencesIn(db: Db): Promise<string[]> {
  const named: string[] = [];
  const report = (_table: string, id: unknown, field: string) => void named.push(`${id} ${field}`);
  await verifyAudit(db, { report, looked: () => {}, signal: new AbortController().signal });
  return named;
}
