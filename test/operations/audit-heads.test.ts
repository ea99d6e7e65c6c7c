import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Test } from 'tap';
import type { AuditHeads, DataKey } from '../../src/config.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { assertAppendable, createHeadKeeper } from '../../src/operations/audit-heads.ts';
import { verifyHeads } from '../../src/operations/verify-heads.ts';
import { record } from '../../src/security/audit.ts';
import { headText, readHead } from '../../src/security/audit-chain.ts';
import { parsePublicKey, publicKeyText, readSignedHead, signHead } from '../../src/security/signed-heads.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { altering } from '../cli/alter.ts';
import { scratch } from '../database/scratch.ts';
import { ACTING } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';

const test = onEitherEngine.with(scratch);

const KEY: DataKey = { id: 'k1', key: Buffer.alloc(32, 1) };
const OTHER_KEY: DataKey = { id: 'k2', key: Buffer.alloc(32, 2) };
const AT = new Date('2026-07-01T09:30:00.000Z');

const act = (db: Db) =>
  transact(db, (trx) => record(trx, ACTING, { action: 'event.dismiss', resource: 'e' }));

function keeper(db: Db, auditHeads: AuditHeads) {
  const logged: { level: string; [field: string]: unknown }[] = [];
  const at = (level: string) => (fields: object) => void logged.push({ level, ...fields });
  const log: unknown = Object.fromEntries(
    ['debug', 'info', 'warn', 'error', 'fatal'].map((level) => [level, at(level)]),
  );
  const parts = { db, now: () => AT, log: log as Log, auditHeads, dataKeys: [KEY, OTHER_KEY] };
  return { ...createHeadKeeper(parts), logged };
}

const verified = (db: Db, lines: readonly string[], keys: readonly DataKey[] = [OTHER_KEY, KEY]) => {
  const publicKeys = keys.map((key) => parsePublicKey(publicKeyText(key)));
  return verifyHeads(db, Readable.from(lines), publicKeys as NonNullable<(typeof publicKeys)[0]>[]);
};

const linesOf = (path: string) => readFileSync(path, 'utf8').trimEnd().split('\n');

test('a changed head is written to the log or appended to the file, signed', async (t, { db }) => {
  const path = join(folderOf(t), 'heads.ndjson');
  const [logging, appending, off] = [{ to: 'log' }, { to: 'file', path }, { to: 'off' }].map((to) =>
    keeper(db, to as AuditHeads),
  ) as [Kept, Kept, Kept];
  const all = [logging, appending, off];
  for (const { keep } of all) await keep();
  t.strictSame(logging.logged, [], 'before the first record there is no head');
  for (let count = 0; count < 2; count += 1) {
    await act(db);
    for (const { keep } of all) await Promise.all([keep(), keep()]);
  }
  t.strictSame(linesOf(path).length, 2);
  t.strictSame(off.logged, []);
  t.match(JSON.parse(linesOf(path)[1] as string), { audit_head: headText(await readHead(db)), key_id: 'k1' });
  const log = logging.logged.map((line) => JSON.stringify({ ...line, time: 'x', msg: 'y' }));
  for (const lines of [linesOf(path), ['not JSON', ...log, '{"level":"info"}', 'null']])
    t.match(await verified(db, lines), {
      heads: 2,
      result: 'continues',
      unsigned: 0,
      differing: 0,
      damaged: 0,
    });
});

test('a damaged line of a file of heads is named, and in a log one that has a part of a head', async (t, {
  db,
}) => {
  await act(db);
  const line = JSON.stringify(signHead(await readHead(db), AT, KEY));
  const torn = line.slice(0, 20);
  const damaged = ['x', 'null', '{}', '\0\0', torn, `${torn}${line}`, line.replace('"audit_h', '"audit_g')];
  const named = (lines: number[]) =>
    lines.map((number) => `line ${number}: is damaged: a signed head cannot be read from it`);
  t.match(await verified(db, [line, '', ...damaged]), {
    ...{ heads: 1, result: 'continues', damaged: 7 },
    named: named([7, 8, 9, 3, 4, 5, 6]),
  });
  t.match(await verified(db, [line, '{"level":"info"}', ...damaged]), {
    damaged: 3,
    named: named([7, 8, 9]),
  });
});

test('a head is signed by a key of a data key only', async (t, { db }) => {
  await act(db);
  const signed = signHead(await readHead(db), AT, KEY);
  const changed = { ...signed, signed_at: '2026-07-02T09:30:00.000Z' };
  for (const [line, keys] of [
    [signed, [OTHER_KEY]],
    [changed, [KEY]],
  ] as const)
    t.match(await verified(db, [JSON.stringify(line)], keys), { heads: 1, unsigned: 1, result: null });
  t.equal(readSignedHead(JSON.stringify({ ...signed, audit_head: 'x' })), null);
  t.equal(parsePublicKey('x'), null);
});

test('signed heads show a recomputed chain and a removed end', async (t, { db, url }) => {
  for (let count = 0; count < 2; count += 1) await act(db);
  const line = JSON.stringify(signHead(await readHead(db), AT, KEY));
  const by = await altering(t, url);
  await by.run(`update audit_records set hash = '${'a'.repeat(64)}' where record_id = 2`);
  t.match(await verified(db, [line]), {
    differing: 1,
    result: 'altered',
    named: [/^line 1: 2:.* altered: /],
  });
  await by.run('delete from audit_records where record_id = 2');
  t.match(await verified(db, [line]), { result: 'restored from an older state' });
});

test('a file that cannot be written stops the start, and later no payroll', async (t, { db }) => {
  await act(db);
  const path = join(folderOf(t), 'none', 'heads.ndjson');
  const { keep, logged } = keeper(db, { to: 'file', path });
  await keep();
  t.match(logged, [{ level: 'error', code: 'ENOENT' }]);
  const refused = {
    code: 'CONFIG',
    message: /^AUDIT_HEADS names a file that cannot be appended to: ENOENT$/,
  };
  await t.rejects(assertAppendable({ to: 'file', path }), refused);
});

test('a running sidecar writes the head at its start and once more only after a change', async (t, {
  db,
}) => {
  const path = join(folderOf(t), 'heads.ndjson');
  await act(db);
  const stopping = new AbortController();
  const { run, keep } = keeper(db, { to: 'file', path });
  const running = run(stopping.signal);
  await keep();
  t.equal(linesOf(path).length, 1);
  stopping.abort();
  await running;
  await keep();
  t.equal(linesOf(path).length, 1);
});

type Kept = ReturnType<typeof keeper>;

/** Not the folder of the test, which has its database. */
function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'heads-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return folder;
}
