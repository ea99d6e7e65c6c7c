/** Repeats the tests of the API on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../api/auth.test.ts');
await import('../api/bad-input.test.ts');
await import('../api/census.test.ts');
await import('../api/deductions.test.ts');
await import('../api/events.test.ts');
await import('../api/server.test.ts');
await import('../api/sessions.test.ts');
await import('../api/activity.test.ts');
await import('../api/metrics.test.ts');
await import('../operations/health.test.ts');
await import('../inbox/arrivals.test.ts');
