/** A bit flipped on disk: the file is rejected, `verify` reports it, or it changes no compared value. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import BetterSqlite3 from 'better-sqlite3';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { parseEvent } from '../../src/inbox/parse-event.ts';
import { seededRandom } from '../../src/simulator/random.ts';
import { here } from '../cli/harness.ts';
import { ROWS, UNVERIFIED } from '../cli/unverified.ts';
import { staged } from '../cli/verify-stage.ts';

const FLIPS = 150;

t.setTimeout(600_000);

type Row = Record<string, unknown>;

/** Returns every row of the tables that `verify` compares, without the columns that it cannot verify. */
function contentOf(path: string): string[] {
  const handle = new BetterSqlite3(path, { readonly: true });
  try {
    return [...new Set(ROWS.map(([table]) => table))].flatMap((table) =>
      (handle.prepare(`select * from ${table}`).all() as Row[]).map((row) =>
        JSON.stringify([table, ...Object.entries(row).map((entry) => compared(table, row, entry))]),
      ),
    );
  } finally {
    handle.close();
  }
}

/** Compares bodies by their meaning, and ignores the ids of events without an effect. */
function compared(table: string, row: Row, [column, value]: [string, unknown]): unknown {
  if (UNVERIFIED.has(`${table}.${column}`)) return null;
  if (table === 'inbox' && column === 'body') return parseEvent(value as Buffer);
  if (table === 'inbox' && column === 'event_id' && row.state !== 'applied') return null;
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
  const seed = Date.now() % 1_000_000;
  t.comment(`seed ${seed}`);
  const random = seededRandom(seed);
  let noticed = 0;
  for (let flip = 0; flip < FLIPS; flip += 1) {
    const [at, bit] = [Math.floor(random() * bytes.length), Math.floor(random() * 8)];
    const flipped = Buffer.from(bytes);
    flipped[at] = (flipped[at] as number) ^ (1 << bit);
    const path = join(folder, `${flip}.db`);
    writeFileSync(path, flipped);
    const { code } = await here(t, { ...env, DATABASE_URL: `sqlite:${path}` }, ['verify']);
    if (code !== 0) noticed += 1;
    else if (!isDeepStrictEqual(contentOf(path), before)) t.fail(`bit ${bit} of byte ${at} was not reported`);
  }
  t.ok(noticed > 0, `${noticed} of ${FLIPS}`);
});
