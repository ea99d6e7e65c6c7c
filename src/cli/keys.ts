/** The commands of data keys. */
import { randomBytes } from 'node:crypto';
import type { Command } from 'commander';
import { readDataKeys } from '../config.ts';
import type { Db } from '../database/tables.ts';
import { ENCRYPTED_COLUMNS } from '../operations/verify.ts';
import { createEncryptor, type Encryptor } from '../security/encryption.ts';
import { countRows, type KeysInUse, keysInUse, type Reencrypted, reencrypt } from '../security/rotation.ts';
import { jsonOption } from './arguments.ts';
import { type Act, type Context, withDatabase } from './context.ts';
import { ifStopped } from './failure.ts';
import { adding, counted, printable, printTable, showProgress } from './output.ts';

export function addKeyCommands(program: Command, act: Act): void {
  const keys = program.command('keys').description('keys that stored personal data is sealed with');
  keys.command('generate').description('make a key for DATA_KEYS').action(act(keysGenerate));
  keys
    .command('rotate')
    .description('encrypt everything again with the first of DATA_KEYS, while serve runs')
    .addOption(jsonOption())
    .action(act(keysRotate));
}

/** AES-256. */
const KEY_BYTES = 32;
/** Two keys of one day get different ids. */
const ID_BYTES = 2;

/** Prints a new entry of DATA_KEYS: an id with its date, and 256 random bits. */
async function keysGenerate({ out, now }: Context): Promise<number> {
  const day = now().toISOString().slice(0, 10).replaceAll('-', '');
  out.print(`k${day}-${randomBytes(ID_BYTES).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64')}`);
  out.note(
    'Put it into DATA_KEYS, or the file of DATA_KEYS_FILE, before any older key, which must stay after it\n' +
      'until "benefits-sidecar keys rotate" says that it is needed no longer.\n' +
      'Keep a copy apart from the backups: without it, encrypted data cannot be decrypted.',
  );
  return 0;
}

/** A `serve` that still uses an older key, or a locked row, needs another pass. More would not help. */
const PASSES_MOST = 3;

/**
 * Encrypts everything again with the first of DATA_KEYS, also while `serve` runs, and prints which keys are still
 * needed. Returns 1 if a value could not be opened: its key is missing, or it is damaged.
 */
async function keysRotate(context: Context, { json }: { json?: true }): Promise<number> {
  const { out, env, stopped } = context;
  const dataKeys = readDataKeys(env);
  const encryptor = createEncryptor(dataKeys);
  const given = dataKeys.map(({ id }) => id);
  return withDatabase(context, async (db) => {
    out.note(
      `Sealing under ${encryptor.keyId}: a sidecar that was not restarted with it can open nothing of this any more.`,
    );
    const progress = await showProgress(out, 'values', await countRows(db, ENCRYPTED_COLUMNS));
    const signal = stopped();
    const rotated = await rotate(db, encryptor, given, { looked: adding(progress), signal })
      .catch(ifStopped(signal, 'stopped: finished work is kept, and the next run continues from there'))
      .finally(progress.end);
    const keys = summarize(rotated.inUse, given);
    const { resealed, broken } = rotated;
    if (json) out.json({ first_key: encryptor.keyId, resealed, keys, broken: Object.fromEntries(broken) });
    else printRotation(context, encryptor.keyId, rotated, keys);
    return broken.size > 0 || keys.some(({ state }) => state === 'missing') ? 1 : 0;
  });
}

type Rotated = Reencrypted & { inUse: KeysInUse };

async function rotate(
  db: Db,
  encryptor: Encryptor,
  given: readonly string[],
  on: { looked: (rows: number) => void; signal: AbortSignal },
): Promise<Rotated> {
  let resealed = 0;
  for (let pass = 1; ; pass += 1) {
    // The bar covers the first pass: little is left after it.
    const done = await reencrypt(
      db,
      encryptor,
      ENCRYPTED_COLUMNS,
      pass === 1 ? on : { ...on, looked: () => {} },
    );
    resealed += done.resealed;
    const inUse = await keysInUse(db, ENCRYPTED_COLUMNS);
    const isLeft = given.some((id) => id !== encryptor.keyId && inUse.has(id));
    if (!isLeft || pass === PASSES_MOST) return { resealed, broken: done.broken, inUse };
  }
}

type KeyUse = {
  id: string;
  /** `missing`: values need it and DATA_KEYS lacks it. */
  state: 'first' | 'in-use' | 'unused' | 'missing';
  /** The number of values that need it, by `table.column`. */
  values: Record<string, number>;
};

function summarize(inUse: KeysInUse, given: readonly string[]): KeyUse[] {
  const ids = [...new Set([...given, ...inUse.keys()])];
  return ids.map((id, index) => {
    const values = Object.fromEntries(inUse.get(id) ?? []);
    const isUsed = inUse.has(id);
    const known = index === 0 ? 'first' : isUsed ? 'in-use' : 'unused';
    return { id, state: given.includes(id) ? known : 'missing', values };
  });
}

function printRotation(
  { out }: Context,
  first: string,
  { resealed, broken }: Rotated,
  keys: readonly KeyUse[],
): void {
  out.print(`${counted(resealed, 'value')} sealed again with key ${first}`);
  out.print('');
  printTable(
    out,
    ['key', 'state', 'needed by'],
    keys.map(({ id, state, values }) => [
      id,
      state,
      Object.entries(values)
        .map(([name, count]) => `${name}: ${count}`)
        .join(', '),
    ]),
  );
  const named = (state: KeyUse['state']) =>
    keys.filter((key) => key.state === state).map(({ id }) => printable(id));
  const [unused, used, missing] = [named('unused'), named('in-use'), named('missing')];
  if (unused.length > 0) {
    out.note(`no longer needed: ${unused.join(', ')}: take it out of DATA_KEYS and restart`);
  }
  if (used.length > 0) {
    out.note(
      `still needed: ${used.join(', ')}: restart every serve with ${first} as the first key, then run this again`,
    );
  }
  if (missing.length > 0) {
    out.note(
      `${out.color('red', 'missing')}: ${missing.join(', ')}: add it to DATA_KEYS after the first one, then run this again`,
    );
  }
  for (const [name, count] of broken) {
    out.note(
      `${out.color('red', 'damaged')}: ${count} of ${name} do not open with their key: restore a backup`,
    );
  }
}
