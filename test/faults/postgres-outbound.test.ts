/** The tests of outbound once more, on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../outbound/attempt.test.ts');
await import('../outbound/claims.test.ts');
await import('../outbound/gate.test.ts');
await import('../outbound/invariants.test.ts');
await import('../outbound/order.test.ts');
await import('../outbound/sending.test.ts');
await import('../outbound/slow.test.ts');
