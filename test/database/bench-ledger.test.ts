/** The benchmarks store rows by SQL of their own, which must follow the schema. */
import { sql } from 'kysely';
import { POSTGRES, SQLITE } from '../../bench/fill.ts';
import { ledgerOf, ledgerStatements } from '../../bench/payroll-fill.ts';
import { transact } from '../../src/database/transaction.ts';
import { employeesOf } from '../../src/ledger/roster.ts';
import { onEachEngine } from '../support/engine.ts';
import { scratch } from './scratch.ts';

onEachEngine('the schema accepts the ledger of the payroll benchmark', async (t, engine) => {
  const { db } = await scratch(t);
  const ledger = ledgerOf(1_000, 30);
  const statements = ledgerStatements(ledger, engine === 'sqlite' ? SQLITE : POSTGRES);
  await transact(db, async (trx) => {
    for (const statement of statements) await sql.raw(statement).execute(trx);
  });
  t.equal((await employeesOf(db, 'employer-0', { after: '', limit: 100 })).length, 30);
});
