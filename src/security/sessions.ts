/**
 * Console sessions: a token exchanged for a cookie that scripts cannot read. A session has the
 * scopes that its token has at that moment. Only the SHA-256 of the cookie is stored.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ago } from '../checks.ts';
import { lockNames, type SharedNow } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import { callerOf, tokenHash } from './tokens.ts';

/** A working day. */
export const SESSION_MS = 12 * 60 * 60_000;
/** Without a request by the user; a page that refreshes does not count. Signs out an unattended computer. */
export const SESSION_IDLE_MS = 30 * 60_000;
/** Sessions of one token at once: more than a person has browsers. Otherwise a token could fill the disk with them. */
export const SESSIONS_MAX = 20;
/** The precision of the last use. Otherwise each page would be a write. */
const USE_NOTED_MS = 60_000;
const SECRET_BYTES = 32;
const SECRET = /^[A-Za-z0-9_-]{43}$/;
const HASH_BYTES = 32;
/** The start of the hash identifies a session without revealing its secret. */
const ID_BYTES = 8;
const SESSION_ID = /^[0-9a-f]{16}$/;

/**
 * Starts a session for an authenticated token and returns the cookie's value. Deletes expired and idle sessions, and the
 * token's oldest ones beyond `SESSIONS_MAX`. `earlier` is the session that this one replaces in the browser.
 */
export async function beginSession(
  trx: Trx,
  token: string,
  now: Date,
  earlier: string | null = null,
): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const at = now.toISOString();
  const hashes = { session_hash: sessionHash(secret), token_hash: tokenHash(token) };
  // Before any row is locked: concurrent sign-ins would not count each other.
  await lockNames(trx, [`sessions:${hashes.token_hash.toString('hex')}`]);
  if (earlier !== null) await endSession(trx, earlier);
  await trx
    .deleteFrom('sessions')
    .where((where) =>
      where.or([where('expires_at', '<=', at), where('last_used_at', '<=', ago(now, SESSION_IDLE_MS))]),
    )
    .execute();
  const newest = trx
    .selectFrom('sessions')
    .select('session_hash')
    .where('token_hash', '=', hashes.token_hash)
    .orderBy('created_at', 'desc')
    .orderBy('session_hash')
    .limit(SESSIONS_MAX - 1);
  await trx
    .deleteFrom('sessions')
    .where('token_hash', '=', hashes.token_hash)
    .where('session_hash', 'not in', newest)
    .execute();
  const expires_at = new Date(now.getTime() + SESSION_MS).toISOString();
  const session = { ...hashes, created_at: at, expires_at, last_used_at: at };
  await trx.insertInto('sessions').values(session).execute();
  return secret;
}

/** Returns the session's caller, or null if it is unknown or expired or its token is no longer valid. */
export async function sessionCaller(db: Db, secret: string, sharedNow: SharedNow, firstToken: string | null) {
  if (!SECRET.test(secret)) return null;
  const row = await db
    .selectFrom('sessions')
    .select(['token_hash', 'expires_at', 'last_used_at'])
    .where('session_hash', '=', sessionHash(secret))
    .executeTakeFirst();
  if (row === undefined) return null;
  const now = await sharedNow(db);
  if (row.expires_at <= now.toISOString()) return null;
  if (row.last_used_at === null || row.last_used_at <= ago(now, SESSION_IDLE_MS)) return null;
  return callerOf(db, row.token_hash, async () => now, firstToken);
}

/** Records that the user uses the session, at most once a minute. */
export async function noteUse(db: Db, secret: string, sharedNow: SharedNow): Promise<void> {
  const now = await sharedNow(db);
  const session = await db
    .selectFrom('sessions')
    .select('session_hash')
    .where('session_hash', '=', sessionHash(secret))
    .where('last_used_at', '<=', ago(now, USE_NOTED_MS))
    .executeTakeFirst();
  if (session === undefined) return;
  await transact(db, (trx) =>
    trx
      .updateTable('sessions')
      .set({ last_used_at: now.toISOString() })
      .where('session_hash', '=', session.session_hash)
      .execute(),
  );
}

/** Returns whether there was such a session. */
export async function endSession(trx: Trx, secret: string): Promise<boolean> {
  const ended = await trx
    .deleteFrom('sessions')
    .where('session_hash', '=', sessionHash(secret))
    .executeTakeFirst();
  return ended.numDeletedRows > 0n;
}

/** Returns the id of a session, which does not reveal its secret. */
export function sessionId(secret: string): string {
  return idOf(sessionHash(secret));
}

/** The inverse of hashesOf. */
function idOf(hash: Buffer): string {
  return hash.subarray(0, ID_BYTES).toString('hex');
}

type SessionPosition = { created_at: string; id: string };

/** Returns the sessions of a token that have not ended, newest first. `secret` is the caller's own. */
export async function listSessions(
  db: Db,
  owner: { tokenHash: Buffer; secret: string | null },
  { before: place, limit, now }: { before: SessionPosition | undefined; limit: number; now: Date },
) {
  let query = db
    .selectFrom('sessions')
    .select(['session_hash', 'created_at', 'last_used_at'])
    .where('token_hash', '=', owner.tokenHash)
    .where('expires_at', '>', now.toISOString())
    .where('last_used_at', '>', ago(now, SESSION_IDLE_MS));
  if (place !== undefined) {
    query = query.where((eb) =>
      eb.or([
        eb('created_at', '<', place.created_at),
        eb('created_at', '=', place.created_at).and('session_hash', '>', hashesOf(place.id).last),
      ]),
    );
  }
  const rows = await query
    .orderBy('created_at', 'desc')
    .orderBy('session_hash')
    .limit(limit + 1)
    .execute();
  const current = owner.secret === null ? null : sessionHash(owner.secret);
  const sessions = rows.slice(0, limit).map(({ session_hash, created_at, last_used_at }) => ({
    id: idOf(session_hash),
    created_at,
    // Exact to the minute.
    last_used_at: last_used_at ?? created_at,
    is_current: current?.equals(session_hash) === true,
  }));
  const last = rows.length > limit ? sessions.at(-1) : undefined;
  return { sessions, next: last === undefined ? null : { created_at: last.created_at, id: last.id } };
}

/** Ends one session of a token. Returns false if the token has no session with this id. */
export async function endSessionById(trx: Trx, tokenHash: Buffer, id: string): Promise<boolean> {
  if (!SESSION_ID.test(id)) return false;
  const { first, last } = hashesOf(id);
  const { numDeletedRows } = await trx
    .deleteFrom('sessions')
    .where('token_hash', '=', tokenHash)
    .where('session_hash', '>=', first)
    .where('session_hash', '<=', last)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

export async function endOtherSessions(trx: Trx, tokenHash: Buffer, secret: string | null): Promise<number> {
  let query = trx.deleteFrom('sessions').where('token_hash', '=', tokenHash);
  if (secret !== null) query = query.where('session_hash', '!=', sessionHash(secret));
  return Number((await query.executeTakeFirst()).numDeletedRows);
}

/** Returns the range of the hashes that start with this id. */
function hashesOf(id: string): { first: Buffer; last: Buffer } {
  const start = Buffer.from(id, 'hex');
  const rest = HASH_BYTES - start.length;
  return {
    first: Buffer.concat([start, Buffer.alloc(rest)]),
    last: Buffer.concat([start, Buffer.alloc(rest, 0xff)]),
  };
}

/** Returns what state-changing requests of a session carry in a header: another site's page can't read or send it. */
export function forgeryToken(secret: string): string {
  return createHash('sha256').update(`forgery ${secret}`).digest('base64url');
}

export function isForgeryToken(secret: string, token: unknown): boolean {
  const wanted = Buffer.from(forgeryToken(secret));
  const actual = Buffer.from(typeof token === 'string' ? token : '');
  return wanted.length === actual.length && timingSafeEqual(wanted, actual);
}

function sessionHash(secret: string): Buffer {
  return createHash('sha256').update(`session ${secret}`).digest();
}
