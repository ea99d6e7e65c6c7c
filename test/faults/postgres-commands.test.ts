/** Repeats the tests of commands that use a database on PostgreSQL. */
import { usePostgres } from '../support/engine.ts';

usePostgres();
await import('../cli/events.test.ts');
await import('../cli/deductions.test.ts');
await import('../cli/census.test.ts');
await import('../cli/keys-and-tokens.test.ts');
await import('../cli/keys-rotate.test.ts');
await import('../cli/doctor.test.ts');
await import('../cli/retention.test.ts');
await import('../cli/verify.test.ts');
await import('../cli/change.test.ts');
