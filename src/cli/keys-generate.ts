import { randomBytes } from 'node:crypto';
import type { Context } from './context.ts';

/** AES-256. */
const KEY_BYTES = 32;
/** Two keys made on one day get different ids. */
const ID_BYTES = 2;

/** Prints a new entry of DATA_KEYS: an id that tells its day, and 256 random bits. */
export async function keysGenerate({ out, now }: Context): Promise<number> {
  const day = now().toISOString().slice(0, 10).replaceAll('-', '');
  out.print(`k${day}-${randomBytes(ID_BYTES).toString('hex')}:${randomBytes(KEY_BYTES).toString('base64')}`);
  out.note(
    'Put it into DATA_KEYS, or the file of DATA_KEYS_FILE; in front of an older key, which must stay behind it\n' +
      'until "benefits-sidecar keys rotate" says that it is needed no longer.\n' +
      'Keep a copy apart from the backups: without it what was sealed with it can not be opened.',
  );
  return 0;
}
