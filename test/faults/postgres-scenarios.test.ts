/** The scenarios of how the service treats requests once more, on PostgreSQL. */
import t from 'tap';
import { usePostgres } from '../support/engine.ts';

usePostgres();
t.setTimeout(300_000);
await import('../end-to-end/scenarios-service.test.ts');
