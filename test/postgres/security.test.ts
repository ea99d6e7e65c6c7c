/** Repeats the tests of security on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../security/tokens.test.ts');
await import('../security/sessions.test.ts');
