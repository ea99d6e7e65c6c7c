/** What the archive of an employer contains, compared with the tables. */
import { sql } from 'kysely';
import { stageCensus } from '../../src/census/staging.ts';
import type { AnyRow } from '../../src/database/bulk.ts';
import type { KeyedTable } from '../../src/database/keys.ts';
import type { Db } from '../../src/database/tables.ts';
import { fromSnapshot, transact } from '../../src/database/transaction.ts';
import type { ArchiveFile } from '../../src/formats/tar.ts';
import { BELONGING, exportOf } from '../../src/operations/employer-export.ts';
import { ENCRYPTED_COLUMNS } from '../../src/operations/verify.ts';
import { putSchedules } from '../../src/payroll/settings/schedules.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { censusOf, contentOf, person } from '../census/parts.ts';
import { scratch } from '../database/scratch.ts';
import { encryptor } from '../outbox/parts.ts';
import { fill } from '../postgres/filled.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine, tablesOf } from '../support/engine.ts';
import { bodyOn, EMPLOYER, employ, finalized, LATELY, schedule, taken } from '../support/payroll.ts';

const TWIN = 'twin';
const EMPLOYERS = [EMPLOYER, TWIN, 'b', 'nobody', 'deciding', 'approving', 'maple'];
const NOW = new Date('2026-08-01T00:00:00.000Z');

/** A second employer with a final run and what payroll took. */
async function addTwin(db: Db): Promise<void> {
  await transact(db, (trx) => putSchedules(trx, TWIN, [schedule()], acting(LATELY)));
  await employ(db, 'twin-1', { employer_id: TWIN });
  await deliver(db, [deductionOf('evt-twin-1', { id: 'ded-twin-1', employee_id: 'twin-1' })], LATELY);
  await finalized(db, 'twin-run', bodyOn('2026-07-17', { employer_id: TWIN }));
  await taken(db, 'twin-run', { employee_id: 'twin-1', amount: '40' });
}

type Rows = ReadonlyMap<string, AnyRow[]>;

type Sight = { decrypts?: typeof encryptor | null; isLimited?: boolean };

async function* filesOf(db: Db, employerId: string, { decrypts = null, isLimited = false }: Sight = {}) {
  const exporting = { employerId, encryptor: decrypts, isLimited, now: NOW };
  yield* fromSnapshot(db, (trx) => exportOf(trx, exporting));
}

async function rowsIn(files: AsyncIterable<ArchiveFile>): Promise<Map<string, AnyRow[]>> {
  const rows = new Map<string, AnyRow[]>();
  let end: { tables: Record<string, { rows: number }> } | null = null;
  for await (const { name, content } of files) {
    if (name === 'end.json') end = JSON.parse(content);
    const [table = '', part] = name.split('/');
    if (part === undefined) continue;
    const parsed = content
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AnyRow);
    rows.set(table, [...(rows.get(table) ?? []), ...parsed]);
  }
  const counts = Object.entries(end?.tables ?? {}).map(([table, count]) => [table, count.rows]);
  if (JSON.stringify(Object.fromEntries(counts)) !== JSON.stringify(countsOf(rows)))
    throw new Error('wrong counts');
  return rows;
}

function countsOf(rows: Rows): Record<string, number> {
  const tables = Object.keys(BELONGING).filter((table) => rows.has(table));
  return Object.fromEntries(tables.map((table) => [table, rows.get(table)?.length ?? 0]));
}

const PERSONAL = new Set([
  ...ENCRYPTED_COLUMNS.map(({ table, column }) => `${table}.${column}`),
  ...['inbox.body', 'event_conflicts.body'],
]);

/** Returns a stored row as the archive without personal data has it. */
function withoutPersonal(table: string, row: AnyRow): AnyRow {
  const fields = Object.entries(row).filter(([column]) => !PERSONAL.has(`${table}.${column}`));
  return Object.fromEntries(
    fields.map(([column, value]) => [column, Buffer.isBuffer(value) ? value.toString('hex') : value]),
  );
}

const sorted = (rows: readonly AnyRow[]) =>
  rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();

/** Reads the tables as a second program would: by their columns alone. No employee has two employers here. */
async function expectedOf(db: Db, employerId: string): Promise<Rows> {
  const all = new Map<string, AnyRow[]>();
  for (const table of Object.keys(BELONGING))
    all.set(table, (await sql<AnyRow>`select * from ${sql.table(table)}`.execute(db)).rows);
  const ofTable = (table: KeyedTable) => all.get(table) ?? [];
  const idsOf = (table: KeyedTable, column: string, isOurs: (row: AnyRow) => boolean) =>
    new Set(
      ofTable(table)
        .filter(isOurs)
        .map((row) => row[column]),
    );
  const isOfEmployer = (row: AnyRow) => row.employer_id === employerId;
  const employees = idsOf('roster', 'employee_id', isOfEmployer);
  const isOfEmployee = ({ employee_id }: AnyRow) => employees.has(employee_id);
  const isOfSubject = ({ subject_type, subject_id }: AnyRow) =>
    subject_type === 'employer' ? subject_id === employerId : employees.has(subject_id);
  const positions = idsOf('deduction_versions', 'position', isOfEmployee);
  const events = new Set([
    ...idsOf('deduction_versions', 'event_id', isOfEmployee),
    ...idsOf('census_syncs', 'event_id', isOfEmployer),
    ...idsOf('census_completions', 'event_id', isOfEmployer),
  ]);
  const by: Record<string, (row: AnyRow) => boolean> = {
    employer_id: isOfEmployer,
    run_id: ({ run_id }) => idsOf('payroll_runs', 'run_id', isOfEmployer).has(run_id),
    freeze_id: ({ freeze_id }) => idsOf('payroll_runs', 'freeze_id', isOfEmployer).has(freeze_id),
    census_id: ({ census_id }) => idsOf('staged_censuses', 'census_id', isOfEmployer).has(census_id),
    event_id: ({ event_id }) => events.has(event_id),
    subject_id: isOfSubject,
    request_id: ({ request_id }) => idsOf('outbox', 'request_id', isOfSubject).has(request_id),
  };
  const expected = new Map<string, AnyRow[]>();
  for (const table of await tablesOf(db)) {
    const belonging = BELONGING[table as KeyedTable];
    if (belonging === undefined || 'leftOut' in belonging) continue;
    const rows = all.get(table) ?? [];
    const [first = {}] = rows;
    const isOurs =
      table === 'deductions'
        ? ({ position }: AnyRow) => positions.has(position)
        : (Object.entries(by).find(([column]) => column in first)?.[1] ?? isOfEmployee);
    const ours = rows.filter(isOurs);
    if (ours.length > 0) expected.set(table, ours);
  }
  return expected;
}

onEitherEngine('the archive of an employer', async (t) => {
  const { db } = await scratch(t);
  await fill(db);
  await addTwin(db);

  await t.test('an export has every row of its employer and no row of another', async (t) => {
    const exported = new Set<string>();
    for (const employer of EMPLOYERS) {
      const expected = await expectedOf(db, employer);
      const rows = await rowsIn(filesOf(db, employer));
      t.strictSame([...rows.keys()].sort(), [...expected.keys()].sort(), employer);
      for (const [table, of] of expected) {
        const plain = of.map((row) => withoutPersonal(table, row));
        t.strictSame(sorted(rows.get(table) ?? []), sorted(plain), `${employer} ${table}`);
        exported.add(table);
      }
    }
    const kept = (await tablesOf(db)).filter((table) => table !== 'migrations');
    t.strictSame(
      Object.keys(BELONGING).sort(),
      kept.sort(),
      'every table is exported, or left out with a reason',
    );
    const inArchive = Object.entries(BELONGING).flatMap(([table, belonging]) =>
      'by' in belonging ? table : [],
    );
    t.strictSame([...exported].sort(), inArchive.sort());
  });

  await t.test('an export without a key has everything else', async (t) => {
    const lost = createEncryptor([{ id: 'k2', key: Buffer.alloc(32, 8) }]);
    const rows = await rowsIn(filesOf(db, 'b', { decrypts: lost }));
    t.match(rows.get('census_chunks')?.[0], { chunk: 0, not_decrypted: ['ciphertext'] });
    t.ok(rows.get('census_syncs'));
  });

  await t.test(
    'an export without the scope has no personal column, and with it what was encrypted',
    async (t) => {
      const without = await rowsIn(filesOf(db, 'b'));
      for (const name of PERSONAL) {
        const [table = '', column = ''] = name.split('.');
        t.notOk(
          (without.get(table) ?? []).some((row) => column in row),
          name,
        );
      }
      t.notMatch(JSON.stringify([...without]), 'Zoë');
      const chunks = (await rowsIn(filesOf(db, 'b', { decrypts: encryptor }))).get('census_chunks') ?? [];
      t.ok(chunks.some(({ organization }) => organization !== undefined));
      t.equal(chunks.flatMap(({ employees = [] }) => employees as object[]).length, 1_200 + 1);
      t.match(JSON.stringify(chunks), 'Zoë');
      const bodies = (await rowsIn(filesOf(db, EMPLOYER, { decrypts: encryptor }))).get('outbox') ?? [];
      t.ok(bodies.some(({ body }) => /"termination_date":"2026-07-31"/.test(String(body))));
      const twin = await rowsIn(filesOf(db, TWIN, { decrypts: encryptor }));
      t.match(twin.get('inbox'), [{ body: /"ded-twin-1"/ }]);
      const limited = await rowsIn(filesOf(db, TWIN, { decrypts: encryptor, isLimited: true }));
      t.notOk(
        limited.get('inbox')?.some((row) => 'body' in row),
        'limited callers see no events',
      );
      t.match(twin.get('run_employees'), [{ lines: /"ded-twin-1"/ }]);
      t.strictSame(
        limited.get('run_employees'),
        twin.get('run_employees'),
        'nothing in these lines is hidden',
      );
    },
  );

  await t.test('a limited export has accepted findings without their sentences', async (t) => {
    const stored = await db.selectFrom('accepted_findings').select('employer_id').executeTakeFirstOrThrow();
    const findingsIn = async (sight: Sight) =>
      (await rowsIn(filesOf(db, stored.employer_id, sight)))
        .get('accepted_findings')
        ?.map(({ check_id, finding }) => [check_id, JSON.parse(String(finding))]);
    const all = (await findingsIn({})) ?? [];
    t.ok(all.every(([, { text }]) => typeof text === 'string'));
    t.strictSame(
      await findingsIn({ isLimited: true }),
      all.map(([check_id, { check, employee_id }]) => [
        check_id,
        { check, count: 1, ...(employee_id && { employee_id }) },
      ]),
    );
  });

  await t.test('a history with more versions than one page is exported whole', async (t) => {
    await employ(db, 'long-1', { employer_id: 'long' });
    const events = Array.from({ length: 2_001 }, (_, index) =>
      deductionOf(`evt-long-${index}`, { id: 'ded-long', employee_id: 'long-1' }),
    );
    await deliver(db, events, LATELY);
    const [expected, rows] = [await expectedOf(db, 'long'), await rowsIn(filesOf(db, 'long'))];
    t.strictSame(countsOf(rows), countsOf(expected));
    t.equal(rows.get('deduction_versions')?.length, events.length);
  });

  await t.test('an export shows one instant, however long its reader takes', async (t) => {
    const before = await expectedOf(db, TWIN);
    const files = filesOf(db, TWIN);
    const first = await files.next();
    await deliver(db, [deductionOf('evt-later', { id: 'ded-twin-1', employee_id: 'twin-1' })], LATELY);
    await employ(db, 'twin-2', { employer_id: TWIN });
    const staging = { db, encryptor, sharedNow: async () => NOW };
    await stageCensus(staging, TWIN, contentOf(censusOf([person('twin-1')])));
    const rest = async function* () {
      yield first.value as ArchiveFile;
      yield* files;
    };
    t.strictSame(countsOf(await rowsIn(rest())), countsOf(before));
    t.not(countsOf(await rowsIn(filesOf(db, TWIN))).roster, countsOf(before).roster);
  });
});
