/** Repeats the tests of the scenarios on PostgreSQL. */
import t from 'tap';
import { usePostgres } from '../support/engine.ts';

usePostgres();
t.setTimeout(300_000);
await import('./scenarios-service.test.ts');
await import('../end-to-end/scenarios-events.test.ts');
