/** This build opens, migrates and uses the database of every release. */
import type { Test } from 'tap';
import { postgresObjects } from '../../src/database/schema-check.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { commandsWith, environment } from '../cli/harness.ts';
import { open } from '../database/scratch.ts';
import { onEitherEngine, onPostgres } from '../support/engine.ts';
import { finalizedOn } from '../support/payroll.ts';
import { breaksOf } from './additive.ts';
import { DATA_KEYS, databaseOf, RELEASES } from './kept.ts';

/** The first pay date after the runs of the database. */
const NEXT_PAY_DATE = '2026-08-14';

/** A database of a release, and commands of this build on it. */
async function upgrading(t: Test, release: string) {
  const usual = environment(t);
  const url = await databaseOf(t, release);
  return { db: open(t, url), ...commandsWith(t, { ...usual, DATA_KEYS, DATABASE_URL: url }) };
}

for (const release of RELEASES) {
  onEitherEngine(`a database of ${release} is migrated, verified, and finalizes a run`, async (t) => {
    const { db, cli, json } = await upgrading(t, release);
    const { applied } = await json('migrate');
    t.notOk(applied.includes('0001_database'), 'it was there');
    t.match(await cli('verify'), { code: 0 });

    const fields = { id: 'ded-many-0000', employee_id: 'many-0000', member_contribution: '99.00' };
    await deliver(db, [deductionOf('after-the-upgrade', fields, '2026-08-01T00:00:00Z')]);
    t.match(await finalizedOn(db, NEXT_PAY_DATE), { state: 'finalized' });
    t.match(await cli('verify'), { code: 0 });
  });
}

for (const release of RELEASES.slice(-1)) {
  onPostgres(`a migration after ${release} only adds`, async (t) => {
    const { db, json } = await upgrading(t, release);
    const before = await postgresObjects(db);
    await json('migrate');
    t.strictSame(breaksOf(before, await postgresObjects(db)), []);
  });
}
