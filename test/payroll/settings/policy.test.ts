/** The payroll policy of an employer, and the runs that inherit it. */
import type { Test } from 'tap';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { isAppError } from '../../../src/errors.ts';
import { POLICY, putPolicy } from '../../../src/payroll/settings/policy.ts';
import { cliActor, tokenActor } from '../../../src/security/audit.ts';
import { scratch } from '../../database/scratch.ts';
import { onEitherEngine } from '../../support/engine.ts';
import { body, employment, event, LATELY, learn, put, send, view } from '../../support/payroll.ts';

const PAYROLL = tokenActor({ tokenId: 'tok_1', name: 'payroll' }, null);

async function set(db: Db, fields: object, actor = PAYROLL): Promise<void> {
  const asked = POLICY.check({ effective_from: '2026-01-01', ...fields });
  if (!asked.ok) throw new Error(JSON.stringify(asked.problems));
  await transact(db, (trx) => putPolicy(trx, 'acme', asked.value, { now: LATELY, actor }));
}

async function staged(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await learn(db, employment('e'));
  await send(db, event('a', '2025-12-01', { employee_id: 'e' }));
  return db;
}

onEitherEngine('a policy has defaults for omitted options', async (t) => {
  t.strictSame(POLICY.check({ effective_from: '2026-01-01', scheme: 'month-even' }), {
    ok: true,
    value: {
      effective_from: '2026-01-01',
      scheme: 'month-even',
      applies_on: 'pay_date',
      remainder: 'last',
      extra_paycheck: 'take',
      adjustments: 'report',
      arrears: 'report',
    },
  });
  t.match(POLICY.check({ adjustments: 'decided', rounding: 'up' }), {
    ok: false,
    problems: [
      { path: 'effective_from' },
      { path: 'rounding' },
      { path: 'adjustments', rule: 'must be report or include' },
    ],
  });
});

onEitherEngine('the history of a policy records who set each version and when', async (t) => {
  const db = await staged(t);
  await set(db, { scheme: 'month-even' });
  await set(db, { scheme: 'month-even' });
  await set(db, { effective_from: '2025-01-01' }, cliActor('root'));
  t.match((await POLICY.view(db, 'acme')).versions, [
    {
      version: 1,
      effective_from: '2026-01-01',
      scheme: 'month-even',
      created_at: LATELY,
      created_by: PAYROLL,
    },
    {
      version: 2,
      effective_from: '2025-01-01',
      scheme: 'annualized',
      created_by: { kind: 'cli', name: 'root' },
    },
  ]);
  const changed = transact(db, (trx) =>
    trx.updateTable('payroll_policies').set({ effective_from: 'x' }).execute(),
  );
  await t.rejects(changed, /append-only/);
  await t.rejects(
    transact(db, (trx) => trx.deleteFrom('payroll_policies').execute()),
    /append-only/,
  );
});

onEitherEngine('an option that differs from the policy needs a reason', async (t) => {
  const db = await staged(t);
  const stated = { ...body(2), scheme: 'month-even' } as const;
  const problems = async () => {
    try {
      await view(db, 'r');
      return [];
    } catch (error) {
      if (isAppError(error, 'RUN_REFUSED')) return error.problems;
      throw error;
    }
  };
  await put(db, 'r', stated);
  const needed = [
    {
      path: 'policy_reason',
      rule: "is required to differ from the employer's payroll policy in scheme (annualized)",
    },
  ];
  t.strictSame(await problems(), needed);
  await set(db, { scheme: 'month-even' });
  t.strictSame(await problems(), [], 'the policy has the same value');
  await set(db, { scheme: 'annualized' });
  t.strictSame(await problems(), needed, 'refused at computation');
  await put(db, 'with-reason', { ...stated, policy_reason: 'agreed with the broker' });
  t.match((await view(db, 'with-reason')).run, { scheme: 'month-even', policy_reason: /broker/ });
});
