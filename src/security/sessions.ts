/**
 * Console sessions: a token, or a sign-in with OpenID Connect, exchanged for a cookie that scripts cannot read. Only the
 * SHA-256 of the cookie is stored. A session of a token has the scopes that the token has at that moment; a session of a
 * person keeps the scopes of the sign-in, while the settings that decided them stay the same.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { ago } from '../checks.ts';
import { lockNames, type SharedNow } from '../database/engine.ts';
import type { Db, Trx } from '../database/tables.ts';
import { transact } from '../database/transaction.ts';
import type { SignInConfig } from '../sign-in-config.ts';
import { type Acting, type Actor, record } from './audit.ts';
import { type SignedInPerson, signInRules } from './claims.ts';
import {
  type Caller,
  callerOf,
  FIRST_TOKEN,
  isSamePerson,
  personHash,
  personOf,
  readEmployers,
  storedScopes,
  tokenHash,
} from './tokens.ts';

/** A working day. */
export const SESSION_MS = 12 * 60 * 60_000;
/** Without a request by the user; a page that refreshes does not count. Signs out an unattended computer. */
export const SESSION_IDLE_MS = 30 * 60_000;
/** Maximum number of sessions of one token or person, so that they cannot fill the disk. A person has fewer browsers. */
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
 * Starts a session for an authenticated token or person and returns the cookie's value. Deletes expired and idle sessions,
 * and the owner's oldest ones beyond `SESSIONS_MAX`. `earlier` is the session that this one replaces in the browser.
 */
export async function beginSession(
  trx: Trx,
  owner: string | SignedInPerson,
  now: Date,
  earlier: string | null = null,
): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const at = now.toISOString();
  const owner_hash = typeof owner === 'string' ? tokenHash(owner) : personHash(owner);
  // Before any row is locked: concurrent sign-ins would not count each other.
  await lockNames(trx, [`sessions:${owner_hash.toString('hex')}`]);
  if (earlier !== null) await removeSession(trx, earlier);
  await trx
    .deleteFrom('sessions')
    .where((where) =>
      where.or([where('expires_at', '<=', at), where('last_used_at', '<=', ago(now, SESSION_IDLE_MS))]),
    )
    .execute();
  const newest = trx
    .selectFrom('sessions')
    .select('session_hash')
    .where('owner_hash', '=', owner_hash)
    .orderBy('created_at', 'desc')
    .orderBy('session_hash')
    .limit(SESSIONS_MAX - 1);
  await trx
    .deleteFrom('sessions')
    .where('owner_hash', '=', owner_hash)
    .where('session_hash', 'not in', newest)
    .execute();
  const expires_at = new Date(now.getTime() + SESSION_MS).toISOString();
  await trx
    .insertInto('sessions')
    .values({
      ...{ session_hash: sessionHash(secret), owner_hash, created_at: at, expires_at, last_used_at: at },
      ...(typeof owner === 'string' ? NO_PERSON : rowOf(owner)),
    })
    .execute();
  return secret;
}

/** Starts a session as `beginSession` does, and records it. */
export async function signIn(
  trx: Trx,
  owner: string | SignedInPerson,
  { actor, now, earlier }: { actor: Actor; now: Date; earlier: string | null },
): Promise<string> {
  const secret = await beginSession(trx, owner, now, earlier);
  const details = typeof owner === 'string' ? {} : { scopes: owner.scopes, employers: owner.employers };
  const acting = { actor, now: now.toISOString() };
  await record(trx, acting, { action: 'session.begin', resource: sessionId(secret), details });
  return secret;
}

const NO_PERSON = { issuer: null, subject: null, name: null, scopes: null, employers: null, rules: null };

function rowOf({ issuer, subject, name, scopes, employers, rules }: SignedInPerson) {
  const stored = employers === null ? null : JSON.stringify(employers);
  return { issuer, subject, name, scopes: scopes.join(' '), employers: stored, rules };
}

/** Which sessions are valid: the configured first token, and how people may sign in. */
export type SessionRules = { firstToken: string | null; signIn: SignInConfig };

/**
 * Returns the session's caller, or null if it is unknown or expired, if its token is no longer valid, or if people no
 * longer sign in this way.
 */
export async function sessionCaller(
  db: Db,
  secret: string,
  sharedNow: SharedNow,
  { firstToken, signIn }: SessionRules,
): Promise<Caller | null> {
  const session = await findSession(db, secret, sharedNow);
  if (session === null || !isPermitted(session.row, signIn)) return null;
  const { row, now } = session;
  const { issuer, subject, name, scopes } = row;
  if (issuer === null || subject === null || name === null || scopes === null)
    return callerOf(db, row.owner_hash, async () => now, firstToken);
  const identity = { issuer, subject };
  const employers = row.employers === null ? null : readEmployers(row.employers, 'sessions.employers');
  return {
    ...{ tokenId: null, identity, person: personOf(identity), name, employers },
    scopes: storedScopes(scopes),
  };
}

/** Returns whether a session would last, had the settings of signing in not changed since it began. */
export async function isEndedBySettings(
  db: Db,
  secret: string,
  sharedNow: SharedNow,
  signIn: SignInConfig,
): Promise<boolean> {
  const session = await findSession(db, secret, sharedNow);
  return session !== null && !isPermitted(session.row, signIn);
}

/** Returns the session with this secret, unless it has expired or is idle, and the time. */
async function findSession(db: Db, secret: string, sharedNow: SharedNow) {
  if (!SECRET.test(secret)) return null;
  const now = await sharedNow(db);
  const row = await db
    .selectFrom('sessions')
    .selectAll()
    .where('session_hash', '=', sessionHash(secret))
    .where('expires_at', '>', now.toISOString())
    .where('last_used_at', '>', ago(now, SESSION_IDLE_MS))
    .executeTakeFirst();
  return row === undefined ? null : { row, now };
}

function isPermitted({ rules }: { rules: string | null }, { withToken, provider }: SignInConfig): boolean {
  if (rules === null) return withToken;
  return provider !== null && rules === signInRules(provider);
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

async function removeSession(trx: Trx, secret: string): Promise<boolean> {
  const ended = trx.deleteFrom('sessions').where('session_hash', '=', sessionHash(secret));
  return (await ended.executeTakeFirst()).numDeletedRows > 0n;
}

/** Ends the session of a user who signs out. */
export async function endSession(trx: Trx, secret: string, acting: Acting): Promise<void> {
  if (!(await removeSession(trx, secret))) return;
  await record(trx, acting, { action: 'session.end', resource: sessionId(secret) });
}

type SessionPosition = { created_at: string; id: string };

/** Returns the sessions of a token or person that have not ended, newest first. `secret` is the caller's own. */
export async function listSessions(
  db: Db,
  owner: { hash: Buffer; secret: string | null },
  { before: place, limit, now }: { before: SessionPosition | undefined; limit: number; now: Date },
) {
  let query = db
    .selectFrom('sessions')
    .select(['session_hash', 'created_at', 'last_used_at'])
    .where('owner_hash', '=', owner.hash)
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

/** Returns all sessions that have not ended, newest first, for an operator. A token has a name, and a person if one was given. */
export async function allSessions(db: Db, now: Date) {
  const rows = await db
    .selectFrom('sessions')
    .leftJoin('tokens', 'tokens.token_hash', 'sessions.owner_hash')
    .selectAll('sessions')
    .select(['tokens.name as token_name', 'tokens.person as token_person'])
    .where('sessions.expires_at', '>', now.toISOString())
    .where('sessions.last_used_at', '>', ago(now, SESSION_IDLE_MS))
    .orderBy('sessions.created_at', 'desc')
    .orderBy('sessions.session_hash')
    .execute();
  return rows.map(({ issuer, subject, ...row }) => ({
    id: idOf(row.session_hash),
    person: issuer === null || subject === null ? row.token_person : personOf({ issuer, subject }),
    // The configured first token is in no table.
    name: row.name ?? row.token_name ?? FIRST_TOKEN,
    created_at: row.created_at,
    last_used_at: row.last_used_at,
  }));
}

/** Which sessions to end: of an owner, of a person, one, or all without a condition. */
export type Ending = {
  owner?: Buffer;
  person?: string;
  id?: string;
  /** The secret of the session that stays. */
  except?: string | null;
};

/** Ends the sessions that match, and records them together. Returns how many. */
export async function endSessions(
  trx: Trx,
  { owner, person, id, except = null }: Ending,
  acting: Acting,
): Promise<number> {
  if (id !== undefined && !SESSION_ID.test(id)) return 0;
  let query = trx.deleteFrom('sessions').returning('session_hash');
  if (owner !== undefined) query = query.where('owner_hash', '=', owner);
  if (person !== undefined) query = query.where('owner_hash', 'in', await ownersOf(trx, person));
  if (id !== undefined) {
    const { first, last } = hashesOf(id);
    query = query.where('session_hash', '>=', first).where('session_hash', '<=', last);
  }
  if (except !== null) query = query.where('session_hash', '!=', sessionHash(except));
  const ended = (await query.execute()).map(({ session_hash }) => idOf(session_hash)).sort();
  if (ended.length === 0) return 0;
  const isOne = ended.length === 1;
  await record(trx, acting, {
    action: 'session.end',
    resource: isOne ? (ended[0] as string) : null,
    details: isOne ? {} : { session_ids: ended },
  });
  return ended.length;
}

/** Returns the hashes under which a person has sessions: of the sign-in with OpenID Connect, and of the person's tokens. */
async function ownersOf(trx: Trx, person: string): Promise<Buffer[]> {
  const tokens = await trx
    .selectFrom('tokens')
    .select(['token_hash', 'person'])
    .where('person', 'is not', null)
    .execute();
  const theirs = tokens.filter((token) => token.person !== null && isSamePerson(token.person, person));
  return [tokenHash(person), ...theirs.map(({ token_hash }) => token_hash)];
}

/** Returns the id of the session with this secret, which reveals nothing about the secret. */
export function sessionId(secret: string): string {
  return idOf(sessionHash(secret));
}

/** The inverse of `hashesOf`. */
function idOf(hash: Buffer): string {
  return hash.subarray(0, ID_BYTES).toString('hex');
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
