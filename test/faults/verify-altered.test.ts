/** Every changed value in a row is found, or listed here with the reason why not. */
import { Client } from 'pg';
import t, { type Test } from 'tap';
import { readDataKeys } from '../../src/config.ts';
import { createDifferences, type Differences } from '../../src/database/difference.ts';
import type { Db } from '../../src/database/tables.ts';
import { verifyRows } from '../../src/operations/verify.ts';
import { createEncryptor, type Encryptor } from '../../src/security/encryption.ts';
import { altered, altering } from '../cli/alter.ts';
import { here, jsonOf, withFixtures } from '../cli/harness.ts';
import { ROWS, UNVERIFIED } from '../cli/unverified.ts';
import { staged } from '../cli/verify-stage.ts';
import { onEachEngine, onPostgres } from '../support/engine.ts';

t.setTimeout(600_000);

async function look(db: Db, encryptor: Encryptor): Promise<Differences> {
  const differences = createDifferences(1_000);
  const { signal } = new AbortController();
  await verifyRows(db, encryptor, { report: differences.report, looked: () => {}, signal });
  return differences;
}

onEachEngine('an altered value is reported in any column', async (t) => {
  const { env, db } = await staged(t);
  const encryptor = createEncryptor(readDataKeys(env));
  const by = await altering(t, env.DATABASE_URL as string);
  const reported = new Set<string>();
  const silent = new Set<string>();
  for (const [table, where, unverified] of ROWS) {
    const row = await by.row(table, where);
    for (const [column, value] of Object.entries(row)) {
      const change = { table, row, column, to: altered(value) };
      // Values that the engine refuses to store cannot occur.
      if (!(await by.alter(change))) continue;
      const found = await look(db, encryptor);
      const name = `${table}.${column}`;
      if (found.total > 0) {
        reported.add(name);
        const isNamed = found.named.some((one) => one.table === table && one.id === String(row.position));
        if (table === 'deduction_versions') t.ok(isNamed, name);
      } else if (name !== unverified && !(await by.isRefused())) silent.add(name);
      await by.undo(change);
    }
  }
  for (const name of silent) t.ok(UNVERIFIED.has(name), name);
  t.equal((await look(db, encryptor)).total, 0, 'nothing is reported after all values are restored');
  t.ok(reported.size > 80, `${reported.size} columns`);
});

/** Rows that were deleted or inserted: each is reported as missing or as excess. */
const MISSING: readonly (readonly [statement: string, expected: string])[] = [
  ["delete from inbox where event_id = 'd-1.3'", 'deduction_versions.event_id'],
  ["delete from deduction_versions where event_id = 'd-1.3'", 'deduction_versions.position'],
  ["delete from deduction_versions where event_id = 'd-1.6'", 'inbox.state'],
  ["delete from deductions where deduction_id = 'd-1'", 'deduction_versions.position'],
  ['delete from event_conflicts', 'conflicted_events.stored_count'],
  ['delete from conflicted_events', 'event_conflicts.event_id'],
  ["delete from roster where employee_id = 'many-0000'", 'roster.position'],
  ["insert into roster (employee_id, employer_id, position) values ('e-9', 'acme', 1)", 'roster.employee_id'],
  ["delete from outbox where subject_id = 'many-0000'", 'roster_facts.source_id'],
  ['delete from census_syncs where event_id is not null', 'census_syncs.employer_id'],
  ["delete from run_employees where employee_id = 'many-0001'", 'run_employees.roster_position'],
  ["delete from payroll_runs where run_id = '2026-07-03'", 'run_employees.freeze_id'],
  ['delete from taken_lines', 'taken_reports.line_count'],
  ['delete from taken_reports', 'taken_reports.recorded_at'],
  ['delete from run_approvals', 'run_approvals.record_id'],
  ['delete from approval_settings where version = 2', 'approval_settings.record_id'],
  ['delete from item_decisions where decision_id = 2', 'item_decisions.record_id'],
  ['delete from payroll_policies', 'payroll_policies.record_id'],
  ["delete from tokens where name = 'valid'", 'tokens.record_id'],
];

onEachEngine('a missing or excess row is reported', async (t) => {
  for (const entry of MISSING) await everyOneIsReported(t, [entry]);
});

/** The same for censuses, acceptances and keys, one after the other in one database. */
const IN_ORDER: typeof MISSING = [
  [
    "update census_fingerprints set employee_id = 'e-forged' where employee_id = (select max(employee_id) from census_fingerprints)",
    'census_fingerprints.field_hashes',
  ],
  ["delete from census_fingerprints where employee_id = ''", 'staged_censuses.employee_count'],
  [
    `insert into staged_censuses (census_id, employer_id, state, staged_at, employee_count, body_bytes, fingerprint_key)
      select 'x', 'acme', 'current', staged_at, 0, 2, fingerprint_key from staged_censuses`,
    'staged_censuses.census_id',
  ],
  ["update staged_censuses set state = 'abandoned'", 'staged_censuses.state'],
  ["update accepted_findings set run_id = '2026-07-17'", 'accepted_findings.run_id'],
  [
    "insert into census_completions (event_id, employer_id) values ('d-1.1', 'acme')",
    'census_completions.event_id',
  ],
  [
    "insert into change_keys (key_hash, request_id) select 'x', request_id from outbox where kind = 'census'",
    'change_keys.key_hash',
  ],
  ['delete from change_keys', 'change_keys.key_hash'],
  ['delete from hash_keys', 'hash_keys.key_id'],
];

onEachEngine('a missing or excess row of censuses, acceptances and keys is reported', (t) =>
  everyOneIsReported(t, IN_ORDER),
);

async function everyOneIsReported(t: Test, statements: typeof MISSING): Promise<void> {
  const { env, db } = await staged(t);
  const by = await altering(t, env.DATABASE_URL as string);
  let before: Differences['counts'] = new Map();
  for (const [statement, expected] of statements) {
    await by.run(statement);
    const { counts } = await look(db, createEncryptor(readDataKeys(env)));
    t.ok((counts.get(expected) ?? 0) > (before.get(expected) ?? 0), `${statement}: ${[...counts.keys()]}`);
    before = counts;
  }
}

onPostgres('every index is checked if the extension is installed', async (t) => {
  const { env } = await withFixtures(t);
  const check = async () => {
    const { engine } = jsonOf(await here(t, env, ['verify', '--json']));
    return engine.find(({ name }: { name: string }) => name === 'amcheck');
  };
  t.match(await check(), { result: 'skipped', detail: /CREATE EXTENSION amcheck/ });
  const client = new Client(env.DATABASE_URL as string);
  await client.connect();
  t.teardown(async () => {
    await client.query('drop extension amcheck');
    await client.end();
  });
  await client.query('create extension amcheck');
  t.match(await check(), { result: 'pass', detail: /^\d+ indexes are whole$/ });
});
