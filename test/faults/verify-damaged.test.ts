/** What `verify` reports of rows that were altered, removed or moved, and of states that no action makes. */
import { transact } from '../../src/database/transaction.ts';
import { altering } from '../cli/alter.ts';
import { here, jsonOf } from '../cli/harness.ts';
import { staged } from '../cli/verify-stage.ts';
import { engineOf, onEachEngine } from '../support/engine.ts';

const test = onEachEngine.with(staged);

test('a version without its body is verified as far as its hash allows', async (t, { env, db }) => {
  const by = await altering(t, env.DATABASE_URL as string);
  const hash = Buffer.alloc(32, 7);
  await transact(db, (trx) =>
    trx
      .updateTable('inbox')
      .set({ body: null, body_hash: hash })
      .where('event_id', 'in', ['d-1.1', 'd-1.2', 'd-1.4'])
      .execute(),
  );
  const ran = await here(t, env, ['verify', '--json']);
  t.match(jsonOf(ran), { clean: true, versions: { by_body: 22, by_hash: 3 } }, ran.stdout);
  const short = { table: 'inbox', row: await by.row('inbox', "event_id = 'd-1.2'"), column: 'body_hash' };
  await by.alter({ ...short, to: Buffer.alloc(5) });
  const { differences } = jsonOf(await here(t, env, ['verify', '--json']));
  t.strictSame(differences.by_field, { 'inbox.body_hash': 1 }, 'an invalid hash');
  await by.undo({ ...short, to: Buffer.alloc(5) });
  for (const [column, value] of [
    ['period', 'sometimes'],
    ['starts_on', '2026-05-09'],
    ['late', 1],
    ['previous_position', 3],
  ] as const) {
    const row = await by.row('deduction_versions', "event_id = 'd-1.4'");
    const change = { table: 'deduction_versions', row, column, to: value };
    if (!(await by.alter(change))) continue;
    t.match(jsonOf(await here(t, env, ['verify', '--json'])), { clean: false }, column);
    await by.undo(change);
  }
});

test('removed, truncated and moved rows are reported', async (t, { env }) => {
  const by = await altering(t, env.DATABASE_URL as string);
  const findings = async (): Promise<Record<string, number>> =>
    jsonOf(await here(t, env, ['verify', '--json'])).differences.by_field;
  await by.run(
    `delete from census_chunks where chunk > 0 and census_id in
      (select census_id from staged_censuses where state = 'current')`,
  );
  t.strictSame(await findings(), { 'staged_censuses.body_bytes': 1 }, 'a census without its employees');
  await by.run("update staged_censuses set employer_id = 'another' where state = 'current'");
  t.strictSame(await findings(), {
    ...{ 'staged_censuses.body_bytes': 1, 'staged_censuses.employer_id': 1 },
    ...{ 'census_fingerprints.field_hashes': 1 },
  });
  const { seq } = await by.row('inbox', "state = 'quarantined'");
  await by.run(`delete from inbox where seq = ${seq}`);
  // PostgreSQL leaves gaps in sequences.
  const missing = engineOf(t) === 'sqlite' ? 1 : undefined;
  t.equal((await findings())['inbox.seq'], missing, 'an event that had no effect');
});

test('the employer of an applied completion is compared with the recorded one', async (t, { env }) => {
  const by = await altering(t, env.DATABASE_URL as string);
  const row = await by.row('inbox', "event_type = 'employee-census.sync-complete'");
  const to = Buffer.from(String(row.body).replace('maple-bakery', 'oak-bakery'));
  const change = { table: 'inbox', row, column: 'body', to };
  t.ok(await by.alter(change));
  const findings = async () => jsonOf(await here(t, env, ['verify', '--json'])).differences.by_field;
  t.strictSame(await findings(), { 'census_completions.employer_id': 1 });
  await by.undo(change);
  t.strictSame(await findings(), {});
});

test('a database without its position is reported as altered', async (t, { env }) => {
  const by = await altering(t, env.DATABASE_URL as string);
  await by.run('delete from ledger_head');
  const { code, stdout, stderr } = await here(t, env, ['verify']);
  t.equal(code, 1);
  // Only on SQLite, the high-water mark is compared first.
  t.match(stdout + stderr, /a row that every database has is missing|^ledger_head 1: position/m);
});

test('a reference to a missing row is reported by table and row', async (t, { env }) => {
  const by = await altering(t, env.DATABASE_URL as string);
  await by.run(
    "update census_syncs set request_id = 'gone' where sync_id = (select min(sync_id) from census_syncs)",
  );
  await by.run('update taken_lines set report = 9');
  const ran = await here(t, env, ['verify']);
  t.match(ran, { code: 1 });
  const isSqlite = engineOf(t) === 'sqlite';
  const [sync, taken] = isSqlite ? ['row \\d+', 'row \\d+'] : ['gone', '[\\d-]+/9'];
  for (const row of [
    `census_syncs ${sync}: request_id: refers to a row of outbox`,
    `taken_lines ${taken}: run_id, report: refers to a row of taken_reports`,
  ])
    t.match(ran.stdout, new RegExp(`^${row} that does not exist$`, 'm'));
  const check = isSqlite ? 'integrity_check' : 'foreign_keys';
  const failed = new RegExp(
    `^${check} +fail: census_syncs: request_id refers to a\\s+row\\s+of\\s+outbox`,
    'm',
  );
  t.match(ran.stdout, failed);
});

test('an open run with an impossible body is reported', async (t, { env }) => {
  const by = await altering(t, env.DATABASE_URL as string);
  const row = await by.row('payroll_runs', "run_id = '2026-07-17'");
  const body = String(row.body);
  for (const [from, to] of [
    ['"final_checks"', '"finel_checks"'],
    ['"kind":"regular"', '"kind":"reg\u00fclar"'],
    ['"employee_ids":null', '"employee_hds":null'],
  ] as const) {
    const change = { table: 'payroll_runs', row, column: 'body', to: body.replace(from, to) };
    t.ok(await by.alter(change), `${to} instead of ${from}`);
    const { differences } = jsonOf(await here(t, env, ['verify', '--json']));
    t.strictSame(differences.by_field, { 'payroll_runs.body': 2 }, 'and it has another hash');
    await by.undo(change);
  }
  t.match(jsonOf(await here(t, env, ['verify', '--json'])), { clean: true }, 'after it is restored');
});

const AT = "'2026-07-20T00:00:00.000Z'";
/** Changes by SQL, as no action makes them, and the field that shows each. */
const UNRECORDED: readonly (readonly [statement: string, field: string])[] = [
  ["update payroll_runs set void_reason = 'other' where void_reason is not null", 'payroll_runs.void_reason'],
  [
    `update payroll_runs set state = 'voided', voided_at = ${AT}, void_reason = 'by hand' where run_id = '2026-06-19'`,
    'payroll_runs.state',
  ],
  [
    `update payroll_runs set state = 'finalized', voided_at = null, void_reason = null
      where state = 'voided' and run_id <> '2026-06-19'`,
    'payroll_runs.state',
  ],
  [`update payroll_runs set finalized_at = ${AT} where state = 'finalized'`, 'payroll_runs.finalized_at'],
  ["delete from audit_records where action = 'run.finalize'", 'payroll_runs.state'],
  [
    `update payroll_runs set body = replace(body, '"employee_ids":null', '"employee_ids":["many-0000"]') where state = 'open'`,
    'payroll_runs.body',
  ],
  ["update audit_records set resource_id = 'none' where action = 'run.void'", 'audit_records.resource_id'],
  [
    `update inbox set dismissed_at = ${AT}, dismissed_reason = 'by hand' where state = 'quarantined'`,
    'inbox.dismissed_at',
  ],
  [
    `update outbox set state = 'canceled', finished_at = ${AT}, body = null, is_next = 0 where kind <> 'census'`,
    'outbox.state',
  ],
  ["delete from audit_records where action = 'change.report'", 'outbox.request_id'],
  ["delete from run_overrides where run_id = '2026-07-17'", 'run_overrides.record_id'],
  ['update taken_lines set amount = owed, owed = amount', 'taken_reports.report'],
  ["delete from audit_records where action = 'run.taken'", 'taken_reports.recorded_at'],
  [
    "update roster_facts set received_on = '2026-01-01' where source = 'termination'",
    'roster_facts.content_hash',
  ],
  [`insert into pilot (id, started_at) values (1, ${AT})`, 'pilot.started_at'],
  [`update pilot set ended_at = ${AT}`, 'pilot.ended_at'],
  ...['payroll_head', 'circuit_breaker', 'retention', 'notification_head'].map(
    (table) => [`delete from ${table}`, `${table}.id`] as const,
  ),
];

test('a state that no audit record states is reported', async (t, { env }) => {
  const by = await altering(t, env.DATABASE_URL as string);
  const counts = async (): Promise<Record<string, number>> =>
    jsonOf(await here(t, env, ['verify', '--json'])).differences.by_field;
  let before = await counts();
  for (const [statement, field] of UNRECORDED) {
    await by.run(statement);
    const after = await counts();
    t.ok((after[field] ?? 0) > (before[field] ?? 0), `${field}: ${statement}`);
    before = after;
  }
});
