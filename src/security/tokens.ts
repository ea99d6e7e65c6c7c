/** Bearer tokens of the API: 256 random bits, shown once, stored and found as their SHA-256. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { sql } from 'kysely';
import type { Elapsed } from '../clock.ts';
import { parseJson } from '../contract/json.ts';
import { isOneOf } from '../database/bulk.ts';
import type { Verifying } from '../database/difference.ts';
import type { SharedNow } from '../database/engine.ts';
import type { Db, Tables, Trx } from '../database/tables.ts';
import { AppError } from '../errors.ts';
import { type Acting, type Actor, type Made, record } from './audit.ts';
import { type Fact, insertFacts } from './facts.ts';
import { isScope, SCOPES, type Scope } from './scopes.ts';

/** The token is refused from `expiresAt` on; null: never. */
export type NewToken = {
  name: string;
  scopes: readonly string[];
  /** The person whose token it is; null for a program. */
  person?: string | null;
  /** The employers to which it is limited; null for all. */
  employers?: readonly string[] | null;
  expiresAt: Date | null;
  now: Date;
  actor: Actor;
};
/** A subject of an OpenID Connect issuer. */
export type Identity = { readonly issuer: string; readonly subject: string };

/**
 * The authenticated caller. `person` identifies a person, and is null for a program. `employers` limits what the caller may
 * see; null for all.
 */
export type Caller = {
  /** Null for a person who signed in with OpenID Connect. */
  readonly tokenId: string | null;
  readonly identity: Identity | null;
  /** May be logged if it is the name of a token. */
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly person: string | null;
  readonly employers: readonly string[] | null;
};
/** A token without its secret. Times are UTC texts. */
export type TokenSummary = Caller & {
  tokenId: string;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
};

const TOKEN_BYTES = 32;
/** A prefix for secret scanners, then the bytes in base64url. */
const TOKEN = /^bsc_[A-Za-z0-9_-]{43}$/;
/** Short, for typing after `token revoke`. Not secret. */
const ID_BYTES = 6;
/** Names appear in logs and tables: plain characters, one line. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$/;
/** The name of `API_TOKEN`, which is in no table and has no id. */
export const FIRST_TOKEN = 'API_TOKEN';

export const TOKEN_NAME_RULE = `1 to 64 letters, digits, spaces and . _ @ -, start with a letter or digit, and be neither ${FIRST_TOKEN} nor an id`;

export function isTokenName(text: string): boolean {
  return NAME.test(text) && !text.startsWith('tok_') && text !== FIRST_TOKEN;
}

/** Visible characters, so that two names of a person never look the same; a subject of OpenID Connect follows its issuer. */
const PERSON = /^[\x21-\x7e]+(?: [\x21-\x7e]+)*$/;
const PERSON_MAX_CHARACTERS = 512;

export const PERSON_RULE = `1 to ${PERSON_MAX_CHARACTERS} visible ASCII characters, with single spaces between them`;

export function personOf({ issuer, subject }: Identity): string {
  return `${issuer} ${subject}`;
}

/**
 * Reports whether two texts identify the same person. The issuer and the subject of OpenID Connect are exact; other
 * persons were typed, so their case does not matter.
 */
export function isSamePerson(left: string, right: string): boolean {
  return comparable(left) === comparable(right);
}

/** An issuer is an address, which a space separates from the subject. */
function comparable(person: string): string {
  return /^https?:\/\/\S+ /i.test(person) ? person : person.toLowerCase();
}

export function isPerson(text: string): boolean {
  return text.length <= PERSON_MAX_CHARACTERS && PERSON.test(text);
}

/** Creates a token and returns it; it is never shown again. Throws TOKEN_REFUSED. */
export async function createToken(
  trx: Trx,
  { name, scopes, person = null, employers = null, expiresAt, now, actor }: NewToken,
) {
  if (!isTokenName(name)) throw refused(`the name of a token must be ${TOKEN_NAME_RULE}`);
  const known = knownScopes(scopes);
  if (person !== null && !isPerson(person)) throw refused(`the person of a token must be ${PERSON_RULE}`);
  if (expiresAt !== null && expiresAt <= now) {
    throw refused(`the token would have expired already, at ${expiresAt.toISOString()}`);
  }
  const tokenId = `tok_${randomBytes(ID_BYTES).toString('hex')}`;
  const token = `bsc_${randomBytes(TOKEN_BYTES).toString('base64url')}`;
  const limit = employers === null ? null : limitOf(employers);
  const expires_at = expiresAt?.toISOString() ?? null;
  const acting = { actor, now: now.toISOString() };
  const row = {
    ...{ token_id: tokenId, name, token_hash: tokenHash(token), scopes: known.join(' '), person },
    ...{ employers: limit && JSON.stringify(limit), created_at: acting.now, expires_at, revoked_at: null },
  };
  const details = { name, scopes: known, person, employers: limit, expires_at };
  await insertFacts(trx, STORED_TOKEN, [row], acting, { details });
  return { tokenId, token };
}

export const STORED_TOKEN: Fact<'tokens'> = {
  table: 'tokens',
  actions: ['token.create'],
  subject: { resource: 'token_id' },
  changing: ['revoked_at'],
};

/** Verifies tokens against the audit records of creating and revoking them. */
export async function verifyTokens(db: Db, on: Verifying): Promise<void> {
  const { rows } = await sql<{ token_id: string }>`
    select token_id from tokens where (revoked_at is not null) <> exists (
      select 1 from audit_records
      where resource_type = 'token' and resource_id = token_id and action = 'token.revoke')
    order by token_id`.execute(db);
  for (const { token_id } of rows)
    on.report('tokens', token_id, 'revoked_at', 'is not as the audit records state');
}

/**
 * Returns the caller of a bearer token, or null: the response must not show whether it is unknown, expired or revoked.
 * `firstToken` is the configured `API_TOKEN`, which has all scopes.
 */
export async function authenticate(
  db: Db,
  bearerText: string,
  sharedNow: SharedNow,
  firstToken: string | null,
) {
  // Texts in another format need no query: a flood of them costs one hash each.
  if (!TOKEN.test(bearerText)) return firstCaller(tokenHash(bearerText), firstToken);
  return callerOf(db, tokenHash(bearerText), sharedNow, firstToken);
}

/** Returns the caller of a token's hash, which a session stores, as `authenticate` does. */
export async function callerOf(
  db: Db,
  hash: Buffer,
  sharedNow: SharedNow,
  firstToken: string | null,
): Promise<Caller | null> {
  const first = firstCaller(hash, firstToken);
  if (first !== null) return first;
  const row = await db.selectFrom('tokens').selectAll().where('token_hash', '=', hash).executeTakeFirst();
  if (row === undefined || !timingSafeEqual(hash, row.token_hash)) return null;
  if (row.revoked_at !== null) return null;
  if (row.expires_at !== null && row.expires_at <= (await sharedNow(db)).toISOString()) return null;
  return viewCaller(row);
}

/** Returns the hash to which the sessions of a caller refer; null if its token does not exist. */
export async function hashOfCaller(db: Db, { tokenId, identity }: Caller, firstToken: string | null) {
  if (identity !== null) return personHash(identity);
  if (tokenId === FIRST_TOKEN) return firstToken === null ? null : tokenHash(firstToken);
  const row = db
    .selectFrom('tokens')
    .select('token_hash')
    .where('token_id', '=', tokenId ?? '');
  return (await row.executeTakeFirst())?.token_hash ?? null;
}

function firstCaller(hash: Buffer, firstToken: string | null): Caller | null {
  if (firstToken === null || !timingSafeEqual(hash, tokenHash(firstToken))) return null;
  return {
    tokenId: FIRST_TOKEN,
    name: FIRST_TOKEN,
    scopes: ['all'],
    person: null,
    employers: null,
    identity: null,
  };
}

function viewCaller(
  row: Pick<Tables['tokens'], 'token_id' | 'name' | 'scopes' | 'person' | 'employers'>,
): Caller & { tokenId: string } {
  const { token_id, name, scopes, person } = row;
  const employers =
    row.employers === null ? null : readEmployers(row.employers, `tokens.employers of ${token_id}`);
  return { tokenId: token_id, identity: null, name, scopes: storedScopes(scopes), person, employers };
}

/** A damaged list must not turn into one of all employers. */
export function readEmployers(text: string, place: string): readonly string[] {
  const parsed = parseJson(text);
  if (parsed.ok && Array.isArray(parsed.value)) return parsed.value.filter((id) => typeof id === 'string');
  throw new AppError('STORED_JSON_DAMAGED', `${place} is damaged: create another token, or sign in again`);
}

/** Bounds the row and the statements that filter by the employers. */
export const TOKEN_EMPLOYERS_MAX = 100;

/** Returns the employers of a limited token, in order, each once. */
function limitOf(employers: readonly string[]): string[] {
  const limit = [...new Set(employers)].sort();
  if (limit.length === 0 || limit.length > TOKEN_EMPLOYERS_MAX)
    throw refused(`a limited token needs 1 to ${TOKEN_EMPLOYERS_MAX} employers`);
  return limit;
}

/** Returns since when the tokens that made facts no longer count, by record: they were revoked or expired. */
export async function endsOfMakers(
  db: Db | Trx,
  facts: readonly { record_id: number; made: Made }[],
  now: string,
): Promise<Map<number, string>> {
  const tokens = facts.flatMap(({ record_id, made: { by } }) =>
    by.kind === 'token' && by.id !== null ? [[record_id, by.id] as const] : [],
  );
  if (tokens.length === 0) return new Map();
  const rows = await db
    .selectFrom('tokens')
    .select(['token_id', 'revoked_at', 'expires_at'])
    .where(isOneOf(db, 'token_id', [...new Set(tokens.map(([, id]) => id))]))
    .execute();
  const ends = new Map(
    rows.flatMap(({ token_id, revoked_at, expires_at }) => {
      const expired = expires_at !== null && expires_at <= now ? expires_at : null;
      const ended = [revoked_at, expired].flatMap((at) => at ?? []).sort()[0];
      return ended === undefined ? [] : [[token_id, ended] as const];
    }),
  );
  return new Map(
    tokens.flatMap(([recordId, id]) => {
      const ended = ends.get(id);
      return ended === undefined ? [] : [[recordId, ended] as const];
    }),
  );
}

/** Returns every token, oldest first, including revoked and expired ones: logs still name those. */
export async function listTokens(db: Db): Promise<TokenSummary[]> {
  const rows = await db.selectFrom('tokens').selectAll().orderBy('created_at').orderBy('token_id').execute();
  return rows.map((row) => ({
    ...viewCaller(row),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
  }));
}

/**
 * Revokes the token with this id, or the only valid one with this name. Returns how many it revoked. The caller holds the
 * payroll lock, because the token's approvals end. Throws TOKEN_REFUSED if several have the name: during a rotation the
 * new one must stay.
 */
export async function revokeToken(trx: Trx, idOrName: string, acting: Acting): Promise<number> {
  const tokens = await trx
    .selectFrom('tokens')
    .select(['token_id', 'name'])
    .where((where) => where.or([where('token_id', '=', idOrName), where('name', '=', idOrName)]))
    .where('revoked_at', 'is', null)
    .orderBy('created_at')
    .execute();
  const ids = tokens.map((token) => token.token_id);
  if (ids.length > 1) {
    throw refused(`${ids.length} valid tokens have this name: revoke one by its id, ${ids.join(' or ')}`);
  }
  const [token] = tokens;
  if (token === undefined) return 0;
  const { token_id, name } = token;
  const revoked = trx.updateTable('tokens').set({ revoked_at: acting.now });
  await revoked.where('token_id', '=', token_id).execute();
  await record(trx, acting, { action: 'token.revoke', resource: token_id, details: { name } });
  return 1;
}

function refused(why: string): AppError {
  return new AppError('TOKEN_REFUSED', why);
}

function knownScopes(asked: readonly string[]): Scope[] {
  const unknown = asked.filter((scope) => !isScope(scope));
  if (unknown.length === 0 && asked.length > 0) return SCOPES.filter((scope) => asked.includes(scope));
  const problem = asked.length === 0 ? 'a token needs a scope' : `unknown scope ${unknown.join(', ')}`;
  throw refused(`${problem}: the scopes are ${SCOPES.join(', ')}`);
}

/** A scope stored by a later release is ignored. */
export function storedScopes(text: string): Scope[] {
  return text.split(' ').filter(isScope);
}

/** A token contains no space, so the hash of a person is never the hash of a token. */
export function personHash(identity: Identity): Buffer {
  return tokenHash(personOf(identity));
}

export function tokenHash(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** Maximum number of failed attempts. Typing errors stay below it; a program that repeats a revoked token does not. */
const ATTEMPTS_MAX = 20;
const ATTEMPTS_WINDOW_MS = 60_000;
/** Addresses remembered at once. The oldest is forgotten first, so that memory stays bounded. */
const ADDRESSES_MAX = 1_000;

/** Counts failed attempts to authenticate by source address. Valid tokens are never counted or refused. */
export function createFailedAttempts(elapsed: Pick<Elapsed, 'now'>) {
  const byAddress = new Map<string, { count: number; until: number }>();
  return {
    /** Counts a failed attempt. Returns the seconds to wait after too many in this minute, else null. */
    failed(address: string): number | null {
      const at = elapsed.now();
      let window = byAddress.get(address);
      if (window === undefined || window.until <= at) {
        byAddress.delete(address);
        const [oldest] = byAddress.keys();
        if (byAddress.size >= ADDRESSES_MAX && oldest !== undefined) byAddress.delete(oldest);
        window = { count: 0, until: at + ATTEMPTS_WINDOW_MS };
        byAddress.set(address, window);
      }
      window.count += 1;
      return window.count > ATTEMPTS_MAX ? Math.ceil((window.until - at) / 1_000) : null;
    },
  };
}
