/**
 * Bearer tokens of the private listener: 256 random bits, shown once, kept as their SHA-256. A token is looked up
 * and compared by its hash only: so many bits can't be guessed, and a hash that leaks tells nothing of its token.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Db, Trx } from '../database/tables.ts';

/** What a token may do. `all` is every other scope, those of later releases too. */
export const SCOPES = [
  'ledger:read',
  'runs:read',
  'runs:write',
  'census:read',
  'census:write',
  'changes:read',
  'changes:write',
  'events:read',
  'events:write',
  'pii:read',
  'metrics:read',
  'all',
] as const;
export type Scope = (typeof SCOPES)[number];

export type NewToken = {
  readonly name: string;
  readonly scopes: readonly string[];
  /** From this instant on the token is refused; null: never. */
  readonly expiresAt: Date | null;
  readonly now: Date;
};
/** Who calls. `name` may be logged. */
export type Caller = { readonly tokenId: string; readonly name: string; readonly scopes: readonly Scope[] };
/** A token as people see it: all but the token. Instants are UTC texts. */
export type TokenSummary = Caller & {
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly revokedAt: string | null;
};

/** A token could not be made as asked; the message says what to change. */
export class TokenRefused extends Error {
  readonly code = 'TOKEN_REFUSED';
}

const TOKEN_BYTES = 32;
/** A prefix that secret scanners and people know it by, then 32 bytes in base64url. */
const TOKEN = /^bsc_[A-Za-z0-9_-]{43}$/;
/** For typing after `token revoke`; no secret. */
const ID_BYTES = 6;
/** Names stand in logs and tables: plain characters, one line. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$/;
/** What `API_TOKEN` is called: it is in no table, so no id leads to it. */
const FIRST_TOKEN = 'API_TOKEN';

/**
 * Makes a token and answers it, the only time that it is ever seen. Throws `TokenRefused` for an unknown or missing
 * scope, a name that could not stand in a log, or an expiry that has passed.
 */
export async function createToken(
  trx: Trx,
  { name, scopes, expiresAt, now }: NewToken,
): Promise<{ tokenId: string; token: string }> {
  assertName(name);
  const known = knownScopes(scopes);
  if (expiresAt !== null && expiresAt <= now) {
    throw new TokenRefused(`the token would have expired already, at ${expiresAt.toISOString()}`);
  }
  const tokenId = `tok_${randomBytes(ID_BYTES).toString('hex')}`;
  const token = `bsc_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  await trx
    .insertInto('tokens')
    .values({
      token_id: tokenId,
      name,
      hash: tokenHash(token),
      scopes: known.join(' '),
      created_at: now.toISOString(),
      expires_at: expiresAt?.toISOString() ?? null,
      revoked_at: null,
    })
    .execute();
  return { tokenId, token };
}

/**
 * Whose token this is: the text behind `Bearer ` of an Authorization header. Null when it is unknown, expired or
 * revoked; which of them is nobody's business. `firstToken` is the configuration's `API_TOKEN`, allowed everything.
 */
export async function authenticate(
  db: Db,
  bearerText: string,
  now: Date,
  firstToken: string | null,
): Promise<Caller | null> {
  // No look-up for what can't be one of ours: a flood of nonsense costs a hash each.
  if (!TOKEN.test(bearerText)) return firstCaller(tokenHash(bearerText), firstToken);
  return callerOf(db, tokenHash(bearerText), now, firstToken);
}

/** The same for a token of which only its hash is at hand, as a session keeps it. */
export async function callerOf(
  db: Db,
  hash: Buffer,
  now: Date,
  firstToken: string | null,
): Promise<Caller | null> {
  const first = firstCaller(hash, firstToken);
  if (first !== null) return first;
  const row = await db.selectFrom('tokens').selectAll().where('hash', '=', hash).executeTakeFirst();
  if (row === undefined || !timingSafeEqual(hash, row.hash)) return null;
  if (row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= now.toISOString()))
    return null;
  return { tokenId: row.token_id, name: row.name, scopes: storedScopes(row.scopes) };
}

/** Returns the hash of a caller's token, to which its sessions refer; null if there is no such token. */
export async function hashOfCaller(
  db: Db,
  { tokenId }: Caller,
  firstToken: string | null,
): Promise<Buffer | null> {
  if (tokenId === FIRST_TOKEN) return firstToken === null ? null : tokenHash(firstToken);
  const row = await db.selectFrom('tokens').select('hash').where('token_id', '=', tokenId).executeTakeFirst();
  return row?.hash ?? null;
}

function firstCaller(hash: Buffer, firstToken: string | null): Caller | null {
  if (firstToken === null || !timingSafeEqual(hash, tokenHash(firstToken))) return null;
  return { tokenId: FIRST_TOKEN, name: FIRST_TOKEN, scopes: ['all'] };
}

/** Whether these scopes cover `scope`. */
export function allows(scopes: readonly Scope[], scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes('all');
}

/** Every token ever made, the newest last; revoked and expired ones too, so that a name in a log can be traced. */
export async function listTokens(db: Db): Promise<TokenSummary[]> {
  const rows = await db.selectFrom('tokens').selectAll().orderBy('created_at').orderBy('token_id').execute();
  return rows.map((row) => ({
    tokenId: row.token_id,
    name: row.name,
    scopes: storedScopes(row.scopes),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }));
}

/**
 * Revokes the token of this id, or the only valid one of this name, at once and for good. Answers how many it revoked
 * now. Throws `TokenRefused` when several have the name: during a rotation the new one must stay.
 */
export async function revokeToken(trx: Trx, idOrName: string, now: Date): Promise<number> {
  const found = await trx
    .selectFrom('tokens')
    .select('token_id')
    .where((where) => where.or([where('token_id', '=', idOrName), where('name', '=', idOrName)]))
    .where('revoked_at', 'is', null)
    .orderBy('created_at')
    .execute();
  const ids = found.map((token) => token.token_id);
  if (ids.length > 1) {
    throw new TokenRefused(
      `${ids.length} valid tokens have this name: revoke one by its id, ${ids.join(' or ')}`,
    );
  }
  if (ids.length === 0) return 0;
  await trx
    .updateTable('tokens')
    .set({ revoked_at: now.toISOString() })
    .where('token_id', 'in', ids)
    .execute();
  return ids.length;
}

function assertName(name: string): void {
  if (!NAME.test(name) || name.startsWith('tok_') || name === FIRST_TOKEN) {
    throw new TokenRefused(
      `a token's name has 1 to 64 letters, digits, spaces and . _ @ -, starts with a letter or digit, and is neither ${FIRST_TOKEN} nor an id`,
    );
  }
}

function knownScopes(asked: readonly string[]): Scope[] {
  const unknown = asked.filter((scope) => !isScope(scope));
  if (unknown.length === 0 && asked.length > 0) return SCOPES.filter((scope) => asked.includes(scope));
  const problem = asked.length === 0 ? 'a token needs a scope' : `unknown scope ${unknown.join(', ')}`;
  throw new TokenRefused(`${problem}: the scopes are ${SCOPES.join(', ')}`);
}

/** A scope that a later release stored means nothing here. */
function storedScopes(text: string): Scope[] {
  return text.split(' ').filter(isScope);
}

function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

/** What is kept of a token. */
export function tokenHash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
