/** The commands of data keys. */
import { randomBytes } from 'node:crypto';
import { readDataKeys } from '../config.ts';
import { utcDay } from '../contract/instant.ts';
import { countRows } from '../database/bulk.ts';
import { databaseNow } from '../database/engine.ts';
import type { Db } from '../database/tables.ts';
import { type Environment, secret } from '../environment.ts';
import { ENCRYPTED_COLUMNS } from '../operations/verify.ts';
import { recordStartAndEnd } from '../security/audit.ts';
import { type KeysInUse, keysInUse, type Reencrypted, reencrypt } from '../security/encrypted-columns.ts';
import { createEncryptor, type Encryptor } from '../security/encryption.ts';
import type { Command } from './command.ts';
import { ifStopped } from './failure.ts';
import { counted, type Output, printable, printResult, printTable, withProgress } from './output.ts';

export function addKeyCommands(program: Command): void {
  const keys = program.subcommand('keys', 'Manage the keys that encrypt stored personal data.');
  keys
    .subcommand('generate', 'Generate a key for DATA_KEYS and print it.')
    .records('none')
    .examples('keys generate', 'keys generate > data-keys')
    .does(async ({ out, now, env }) => {
      const day = utcDay(now()).replaceAll('-', '');
      // Two keys of one day get different ids. AES-256 needs 32 bytes.
      const [id, key] = [randomBytes(2).toString('hex'), randomBytes(32).toString('base64')];
      out.print(`k${day}-${id}:${key}`);
      out.note(
        hasKeys(env)
          ? 'Add it to DATA_KEYS, or to the file of DATA_KEYS_FILE, before the older keys. Keep those until\n' +
              '"benefits-sidecar keys rotate" reports that they are no longer needed.'
          : 'Set DATA_KEYS to it, or save it in a file and set DATA_KEYS_FILE to its path.',
      );
      out.note('Store a copy apart from the backups: without the key, encrypted data cannot be read.');
    });
  keys
    .subcommand('rotate', 'Encrypt stored data again with the first key of DATA_KEYS.')
    .records('key.rotate')
    .examples('keys rotate', 'keys rotate --json')
    .table()
    .doesOnDatabase(async ({ db, out, env, stopped, now, actor }) => {
      // Also while `serve` runs. Returns 1 if a value could not be opened: its key is missing, or it is damaged.
      const dataKeys = readDataKeys(env);
      const encryptor = createEncryptor(dataKeys);
      const keyIds = dataKeys.map(({ id }) => id);
      out.note(
        `Encrypting with key ${encryptor.keyId}. A sidecar that was started without this key cannot read the result.`,
      );
      const tables = ENCRYPTED_COLUMNS.map(({ table }) => table);
      const signal = stopped();
      const rotated = await withProgress(out, 'values', await countRows(db, tables), ({ add }) =>
        recordStartAndEnd(
          db,
          { actor, time: () => databaseNow(db, now) },
          { action: 'key.rotate', resource: encryptor.keyId },
          () => rotate(db, encryptor, keyIds, { looked: add, signal }),
          (done) => ({ reencrypted: done.reencrypted, broken: Object.fromEntries(done.broken) }),
        ),
      ).catch(ifStopped(signal, 'stopped: finished work is kept. Run the command again to continue'));
      const keys = summarize(rotated.inUse, keyIds);
      const { reencrypted, broken } = rotated;
      const result = { first_key: encryptor.keyId, reencrypted, keys, broken: Object.fromEntries(broken) };
      printResult(out, result, () => printRotation(out, encryptor.keyId, rotated, keys));
      return broken.size > 0 || keys.some(({ state }) => state === 'missing') ? 1 : 0;
    });
}

/** A `serve` that still uses an older key, or a locked row, needs another pass. More would not help. */
const PASSES_MOST = 3;

type Rotated = Reencrypted & { inUse: KeysInUse };

/** Whether DATA_KEYS or its file has a value, valid or not. */
function hasKeys(env: Environment): boolean {
  try {
    return secret(env, 'DATA_KEYS') !== undefined;
  } catch {
    // A file that is missing or empty: it gets the first key.
    return false;
  }
}

async function rotate(
  db: Db,
  encryptor: Encryptor,
  keyIds: readonly string[],
  on: { looked: (rows: number) => void; signal: AbortSignal },
): Promise<Rotated> {
  let reencrypted = 0;
  for (let pass = 1; ; pass += 1) {
    // The bar covers the first pass: little is left after it.
    const reported = pass === 1 ? on : { ...on, looked: () => {} };
    const done = await reencrypt(db, encryptor, ENCRYPTED_COLUMNS, reported);
    reencrypted += done.reencrypted;
    const inUse = await keysInUse(db, ENCRYPTED_COLUMNS);
    const isLeft = keyIds.some((id) => id !== encryptor.keyId && inUse.has(id));
    if (!isLeft || pass === PASSES_MOST) return { reencrypted, broken: done.broken, inUse };
  }
}

type KeyUse = {
  id: string;
  /** `missing`: values need it and DATA_KEYS lacks it. */
  state: 'first' | 'in-use' | 'unused' | 'missing';
  /** The number of values that need it, by `table.column`. */
  values: Record<string, number>;
};

function summarize(inUse: KeysInUse, keyIds: readonly string[]): KeyUse[] {
  const ids = [...new Set([...keyIds, ...inUse.keys()])];
  return ids.map((id, index) => {
    const values = Object.fromEntries(inUse.get(id) ?? []);
    if (!keyIds.includes(id)) return { id, state: 'missing', values };
    if (index === 0) return { id, state: 'first', values };
    return { id, state: inUse.has(id) ? 'in-use' : 'unused', values };
  });
}

function printRotation(out: Output, first: string, { reencrypted, broken }: Rotated, keys: KeyUse[]) {
  out.print(`Encrypted ${counted(reencrypted, 'value')} again with key ${first}\n`);
  const usesOf = ({ values }: KeyUse) => Object.entries(values).map(([name, count]) => `${name}: ${count}`);
  printTable(
    out,
    [
      ['key', ({ id }) => id],
      ['state', ({ state }) => state],
      ['needed by', (key) => usesOf(key).join(', '), 'cut'],
    ],
    keys,
  );
  const notes = [
    ['unused', 'No longer needed', 'Remove it from DATA_KEYS and restart.'],
    ['in-use', 'Still needed', `Restart every sidecar with ${first} as the first key, then run this again.`],
    ['missing', out.color('red', 'Missing'), 'Add it to DATA_KEYS after the first key, then run this again.'],
  ];
  for (const [state, what, advice] of notes) {
    const ids = keys.filter((key) => key.state === state).map(({ id }) => printable(id));
    if (ids.length > 0) out.note(`${what}: ${ids.join(', ')}. ${advice}`);
  }
  for (const [name, count] of broken) {
    out.note(
      `${out.color('red', 'Damaged')}: ${count} values of ${name} cannot be decrypted with their key. Restore a backup.`,
    );
  }
}
