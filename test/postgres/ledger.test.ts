/** Repeats the tests of the ledger on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../ledger/record.test.ts');
await import('../ledger/roster.test.ts');
await import('../ledger/deductions.test.ts');
await import('../ledger/followed.test.ts');
await import('../api/roster-dates.test.ts');
