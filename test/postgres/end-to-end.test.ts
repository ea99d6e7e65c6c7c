/**
 * Repeats the short end-to-end tests on PostgreSQL. The long ones are in
 * test/faults/postgres-end-to-end.test.ts.
 */
import t from 'tap';
import { usePostgres } from '../support/engine.ts';

usePostgres();
// One file after another, on one server.
t.setTimeout(900_000);
await import('../end-to-end/oracle.test.ts');
await import('../end-to-end/fixtures.test.ts');
await import('../end-to-end/repeats.test.ts');
