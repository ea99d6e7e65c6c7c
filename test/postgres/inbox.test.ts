/** Repeats the tests of the inbox on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../inbox/apply.test.ts');
await import('../inbox/events.test.ts');
await import('../inbox/intake.test.ts');
await import('../inbox/order.test.ts');
await import('../inbox/refusals.test.ts');
await import('../inbox/reprocess.test.ts');
await import('../inbox/import.test.ts');
