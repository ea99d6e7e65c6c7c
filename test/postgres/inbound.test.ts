/** The tests of inbound once more, on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../inbound/apply.test.ts');
await import('../inbound/events.test.ts');
await import('../inbound/intake.test.ts');
await import('../inbound/order.test.ts');
await import('../inbound/refusals.test.ts');
await import('../inbound/reprocess.test.ts');
await import('../inbound/import.test.ts');
