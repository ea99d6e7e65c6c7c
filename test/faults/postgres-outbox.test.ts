/** Repeats the tests of the outbox on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../outbox/attempt.test.ts');
await import('../outbox/claims.test.ts');
await import('../outbox/circuit-breaker.test.ts');
await import('../outbox/invariants.test.ts');
await import('../outbox/order.test.ts');
await import('../outbox/sending.test.ts');
await import('../outbox/slow.test.ts');
