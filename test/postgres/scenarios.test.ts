/** The scenarios of what is delivered once more, on PostgreSQL. The longer ones: test/faults/postgres-scenarios.test.ts. */
import t from 'tap';
import { usePostgres } from '../support/engine.ts';

usePostgres();
t.setTimeout(300_000);
await import('../end-to-end/scenarios-events.test.ts');
