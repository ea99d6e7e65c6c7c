/** Repeats the long end-to-end tests on PostgreSQL. */
import t from 'tap';
import { usePostgres } from '../support/engine.ts';

usePostgres();
t.setTimeout(900_000);
await import('./service-faults.test.ts');
await import('./stop.test.ts');
await import('./busy.test.ts');
await import('../end-to-end/kill.test.ts');
await import('../end-to-end/retention.test.ts');
await import('../end-to-end/loop.test.ts');
await import('../end-to-end/metrics.test.ts');
await import('../end-to-end/restart.test.ts');
await import('../end-to-end/secrets.test.ts');
await import('../end-to-end/census.test.ts');
await import('../outbox/outage.test.ts');
