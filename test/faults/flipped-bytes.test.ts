/** A bit flipped on disk: the file is rejected, `verify` reports it, or it changes no compared value. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import BetterSqlite3 from 'better-sqlite3';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { here } from '../cli/harness.ts';
import { ROWS, UNVERIFIED } from '../cli/unverified.ts';
import { staged } from '../cli/verify-stage.ts';

const FLIPS = 100;
const SEED = 1;

t.setTimeout(600_000);

type Row = Record<string, unknown>;

/**
 * Returns every row of the tables that `verify` compares, without the columns that it cannot verify, or null
 * if SQLite cannot read the file.
 */
function contentOf(path: string): string[] | null {
  let handle: BetterSqlite3.Database | undefined;
  try {
    handle = new BetterSqlite3(path, { readonly: true });
    const file = handle;
    return [...new Set(ROWS.map(([table]) => table))].flatMap((table) =>
      (file.prepare(`select * from ${table}`).all() as Row[]).map((row) =>
        JSON.stringify([table, ...Object.entries(row).map((entry) => compared(table, entry))]),
      ),
    );
  } catch (error) {
    if (error instanceof BetterSqlite3.SqliteError) return null;
    throw error;
  } finally {
    handle?.close();
  }
}

/**
 * Leaves out what nothing repeats: our own times, the reason of a void, and of events the id and the parts of a body without a meaning (test/faults/verify-altered.test.ts alters bodies).
 */
function compared(table: string, [column, value]: [string, unknown]): unknown {
  if (UNVERIFIED.has(`${table}.${column}`) || column.endsWith('_at') || column === 'void_reason') return null;
  if (table === 'inbox' && (column === 'body' || column === 'event_id')) return null;
  return Buffer.isBuffer(value) ? value.toString('hex') : value;
}

t.test('a flipped bit is reported, makes the file unusable, or changes no compared value', async (t) => {
  const { env } = await staged(t);
  const folder = join(dirname(sqlitePath(env.DATABASE_URL as string)), 'flipped');
  mkdirSync(folder);
  const whole = join(folder, 'whole.db');
  t.equal((await here(t, env, ['backup', whole])).code, 0);
  const bytes = readFileSync(whole);
  const before = contentOf(whole);
  const random = seededRandom(SEED);
  const path = join(folder, 'flipped.db');
  let reported = 0;
  for (let flip = 0; flip < FLIPS; flip += 1) {
    const [at, bit] = [Math.floor(random() * bytes.length), Math.floor(random() * 8)];
    const flipped = Buffer.from(bytes);
    flipped[at] = (flipped[at] as number) ^ (1 << bit);
    writeFileSync(path, flipped);
    if (isDeepStrictEqual(contentOf(path), before)) continue;
    const { code, stdout, stderr } = await here(t, { ...env, DATABASE_URL: `sqlite:${path}` }, ['verify']);
    if (code === 0 && !`${stdout}${stderr}`.includes('DATA_KEYS lacks'))
      t.fail(`bit ${bit} of byte ${at} was not reported`);
    else reported += 1;
  }
  t.ok(reported > 0, `${reported} of ${FLIPS}`);
});
