/** Reads and checks single environment variables. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { AppError, codeOf } from './errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export function configError(variable: string, problem: string): AppError<'CONFIG'> {
  return new AppError('CONFIG', `${variable} ${problem}`, { subject: variable });
}

/** Returns a duration such as `24h` in milliseconds. */
export function duration(env: Environment, name: string, otherwise: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(given(env, name) ?? otherwise) ?? [];
  if (count === undefined || unit === undefined || Number(count) === 0) {
    throw configError(name, 'must be a whole number above 0 and s, m, h or d, such as 24h');
  }
  return Number(count) * (UNIT_MS[unit] as number);
}

/** Returns one of `values`. The variable is required without `otherwise`. */
export function oneOf<T extends string>(
  env: Environment,
  name: string,
  values: readonly T[],
  otherwise?: T,
): T {
  const text = given(env, name) ?? otherwise;
  const value = values.find((candidate) => candidate === text);
  if (value !== undefined) return value;
  throw configError(
    name,
    `${text === undefined ? 'is not set: it ' : ''}must be one of ${values.join(', ')}`,
  );
}

/** Returns the value of NAME, or the content of the file that NAME_FILE names. Throws if both are set. */
export function secret(env: Environment, name: string): string | undefined {
  const file = given(env, `${name}_FILE`);
  const value = given(env, name);
  if (file !== undefined && value !== undefined) {
    throw configError(name, `and ${name}_FILE are both set: keep one`);
  }
  const text = file === undefined ? value : readSecretFile(name, file);
  return text === undefined ? undefined : unquoted(name, text);
}

/** `docker run --env-file` passes quotes on. */
function unquoted(name: string, text: string): string {
  if (/^["'`]|["'`]$/.test(text)) throw configError(name, 'must not be in quotes: remove them');
  return text;
}

/** Who may read a file with a secret: docs/security.md#files-with-secrets. */
export const SECRET_FILE_RULE =
  "give it to the sidecar's user with mode 0400, or to its group with mode 0440";

/** Maximum size of a file with a secret. A larger file was named by mistake. */
const SECRET_FILE_KIB = 64;

/**
 * Returns the content of a secret's file, trimmed. Kubernetes mounts secrets as symbolic links to regular files. The message
 * of an error never shows the path, because a secret set there by mistake would be shown too.
 */
export function readSecretFile(name: string, path: string): string {
  const variable = `${name}_FILE`;
  let bytes: Buffer | null;
  try {
    bytes = readRegular(path, SECRET_FILE_KIB * 1024 + 1);
  } catch (error) {
    const code = codeOf(error) || 'unknown error';
    const advice = code === 'EACCES' ? ` (${SECRET_FILE_RULE})` : '';
    throw configError(variable, `can't be read: ${code}${advice}`);
  }
  if (bytes === null)
    throw configError(variable, 'must name a regular file, not a folder, a pipe or a device');
  if (bytes.length > SECRET_FILE_KIB * 1024) {
    throw configError(variable, `must name a file of at most ${SECRET_FILE_KIB} KiB`);
  }
  const text = bytes.toString('utf8').trim();
  if (text === '') throw configError(variable, 'names an empty file');
  return text;
}

/** Reads up to `most` bytes. Returns null if the path is not a regular file. */
function readRegular(path: string, most: number): Buffer | null {
  // Opening a FIFO without O_NONBLOCK would wait for a writer. Windows has no such flag and no FIFOs in its folders.
  const file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!fstatSync(file).isFile()) return null;
    const bytes = Buffer.alloc(most);
    let length = 0;
    for (let read = -1; read !== 0 && length < most; length += read) {
      read = readSync(file, bytes, length, most - length, null);
    }
    return bytes.subarray(0, length);
  } finally {
    closeSync(file);
  }
}

/** Returns a variable's value. An empty one counts as not set: compose files and shells leave such variables. */
export function given(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

export function required(name: string, value: string | undefined): string {
  if (value === undefined) throw configError(name, 'is not set');
  return value;
}

/** Returns `text` if it is valid in an Authorization header, so that the start fails instead of the first request. */
export function bearer(name: string, text: string): string {
  unquoted(name, text);
  if (!/^[\x21-\x7e]+$/.test(text))
    throw configError(name, 'must be printable ASCII characters without spaces');
  return text;
}

/** Decodes base64 strictly; null if it is invalid. Buffer would skip invalid characters. */
export function base64(text: string): Uint8Array | null {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64').replaceAll('=', '') === text.replaceAll('=', '') ? bytes : null;
}

/** An HTTP address. A password in it would be printed and logged, so it has its own variable. */
export function address(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  return url?.username === '' && url.password === '' && /^https?:\/\/[^#]+$/.test(text) ? url : null;
}

/** Addresses of this machine are `localhost`, `*.localhost` (RFC 6761), 127.0.0.0/8 and `::1`, as the URL parser spells them. */
export function isPlainHttp(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(?:(?:.+\.)?localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname);
}

/** Returns the address `text`. Throws CONFIG in live if it is plain HTTP to another machine. */
export function encrypted(env: Environment, name: string, text: string): string {
  if (!isPlainHttp(text) || given(env, 'BENEFITS_ENVIRONMENT') !== 'live') return text;
  throw configError(
    name,
    'must be an https:// address when BENEFITS_ENVIRONMENT is live: http:// is allowed only to this machine, such as http://127.0.0.1',
  );
}

/** The length of the secrets that the delivery provider issues. A shorter key can be guessed. */
const SECRET_BYTES = { least: 24, most: 64 };

/** Returns the secrets of a variable, `whsec_…` and separated by spaces. */
export function webhookSecrets(name: string, text: string): readonly string[] {
  const secrets = text.split(/\s+/);
  secrets.forEach((entry, index) => {
    const key = entry.startsWith('whsec_') ? base64(entry.slice('whsec_'.length)) : null;
    if (key === null || key.length < SECRET_BYTES.least || key.length > SECRET_BYTES.most) {
      throw configError(
        name,
        `entry ${index + 1} must be whsec_ and the base64 of ${SECRET_BYTES.least} to ${SECRET_BYTES.most} bytes`,
      );
    }
  });
  return Object.freeze(secrets);
}
