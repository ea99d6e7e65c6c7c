/** What a backup must be before it may replace anything. */
import { readDataKeys, readEnvironment } from '../config.ts';
import { tableExists } from '../database/engine.ts';
import { codeOf } from '../database/errors.ts';
import { countDue, SchemaRefused } from '../database/migrate.ts';
import { assertSchemaUnaltered } from '../database/schema-check.ts';
import type { Db } from '../database/tables.ts';
import { readTail, type Tail } from '../database/tail.ts';
import { assertWhole, BackupFailed, withFile } from '../operations/backup.ts';
import { keysInUse } from '../security/rotation.ts';
import type { Context } from './context.ts';
import { checkDataKeys } from './doctor/data-keys.ts';
import { CommandFailed } from './failure.ts';
import { ENCRYPTED_COLUMNS } from './sealed.ts';

/** `due`: migrations that the next start will bring. */
export type Checked = { tail: Tail; due: number };

/**
 * Checks the copy that was made of a backup: a whole database of this program, of the configured environment, of this
 * release or an older one, whose sealed values DATA_KEYS opens. Throws `CommandFailed`, which names the backup.
 */
export async function checkBackup(
  { env }: Context,
  file: string,
  prepared: string,
  withoutKeys: boolean,
): Promise<Checked> {
  try {
    return await withFile(prepared, async (db, handle) => {
      assertWhole(handle, 'integrity_check');
      const due = await countDue(db, readEnvironment(env));
      await assertSchemaUnaltered(db);
      if (!withoutKeys) await checkKeys(db, env, due);
      return { tail: await readTail(db), due };
    });
  } catch (error) {
    const why = reasonOf(error);
    if (why === null) throw error;
    throw new CommandFailed(`${file} can not be restored, and nothing was replaced: ${why}`, {
      cause: error,
    });
  }
}

function reasonOf(error: unknown): string | null {
  if (error instanceof SchemaRefused || error instanceof BackupFailed || error instanceof KeysMissing) {
    return error.message;
  }
  const code = codeOf(error);
  if (code === 'SQLITE_NOTADB') return 'it is no SQLite database';
  return /^SQLITE_(CORRUPT|IOERR)/.test(code) ? `it is damaged (${code})` : null;
}

class KeysMissing extends Error {}

const WITHOUT =
  'put that key into DATA_KEYS behind the first one, or give up what is sealed with it by --without-keys';

async function checkKeys(db: Db, env: Context['env'], due: number): Promise<void> {
  const given = new Set(readDataKeys(env).map(({ id }) => id));
  const there = await Promise.all(ENCRYPTED_COLUMNS.map(({ table }) => tableExists(db, table)));
  const inUse = await keysInUse(
    db,
    ENCRYPTED_COLUMNS.filter((_, index) => there[index]),
  );
  for (const [id, values] of inUse) {
    if (given.has(id)) continue;
    const count = [...values.values()].reduce((sum, one) => sum + one, 0);
    throw new KeysMissing(`${count} of its values are sealed with key ${id}: ${WITHOUT}`);
  }
  // Under the same id there may be another key. An older release's tables may lack what is asked for.
  if (due > 0) return;
  const wrong = (await checkDataKeys(db, env)).find(({ result }) => result === 'fail');
  if (wrong !== undefined) throw new KeysMissing(`${wrong.message}: ${WITHOUT}`);
}
