/** Repeats the tests of late events on PostgreSQL, which cancels a statement that takes too long. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('./late-events.test.ts');
