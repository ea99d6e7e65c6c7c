/** The private listener with its own database. Each response is checked against the reference. */
import type { Test } from 'tap';
import type { Api, ApiParts } from '../../src/api/route.ts';
import { createApi } from '../../src/api/server.ts';
import { systemElapsed } from '../../src/clock.ts';
import { compile } from '../../src/contract/check.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { createEmployeeSets } from '../../src/ledger/employee-sets.ts';
import { createRunReviews } from '../../src/readiness/run-reviews.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { createToken, type NewToken } from '../../src/security/tokens.ts';
import { createPrivateCounts, createReceivingCounts } from '../../src/telemetry/counts.ts';
import type { Log, LogFields } from '../../src/telemetry/log.ts';
import { scratch } from '../database/scratch.ts';
import { onlyReceived, stillThread } from '../telemetry/still.ts';

export const NOW = new Date('2026-02-01T12:00:00.000Z');
export const FIRST_TOKEN = 'first-token-of-a-container-0123456789';

export type Logged = { level: string; fields: LogFields; message: string };
export type Running = {
  app: Api;
  db: Db;
  url: string;
  parts: ApiParts;
  logged: Logged[];
  woken: { apply: number; send: number };
  call: (request: Request) => Promise<Answer>;
  tokenWith: (...scopes: string[]) => Promise<string>;
  /** Returns a token that is limited to employers. */
  tokenFor: (employers: readonly string[], ...scopes: string[]) => Promise<string>;
  /** Returns a token of a person. */
  personWith: (person: string, ...scopes: string[]) => Promise<string>;
};
export type Request = {
  method?: 'GET' | 'PUT' | 'POST' | 'DELETE' | 'HEAD' | 'PATCH';
  url: string;
  /** Null: no token. By default the first token, which has all scopes. */
  token?: string | null;
  headers?: Record<string, string>;
  body?: unknown;
};
export type Answer = {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: responses are checked against their schemas below.
  json: any;
};

/** Replaces the given parts; `add` adds routes before the listener is ready. */
export async function start(
  t: Test,
  replaced: Partial<ApiParts> = {},
  add: (app: Api, parts: ApiParts) => void = () => {},
): Promise<Running> {
  const { db, url } = await scratch(t);
  const logged: Logged[] = [];
  const woken = { apply: 0, send: 0 };
  const parts: ApiParts = {
    db,
    now: () => NOW,
    sharedNow: async () => parts.now(),
    elapsed: systemElapsed,
    clockWarning: async () => null,
    employeeSets: createEmployeeSets(db),
    runReviews: createRunReviews(db),
    log: logInto(logged),
    encryptor: createEncryptor([{ id: 'test', key: Buffer.alloc(32, 7) }]),
    firstToken: FIRST_TOKEN,
    signIn: { withToken: true, provider: null, isHttps: false },
    overdueMs: 3_600_000,
    censusMaxAgeMs: 86_400_000,
    silentAfterMs: null,
    proxies: [],
    censusFrom: 'push',
    mayFetch: async () => true,
    version: '0.0.0',
    whyNotReady: async () => null,
    thread: stillThread,
    counts: createPrivateCounts(),
    // Calls without a socket follow each other without a turn of the event loop, which would look like
    // overload.
    pressure: { loopDelayMs: 0, connections: 0, heapBytes: 0 },
    receiving: async () => onlyReceived(createReceivingCounts(() => NOW, []).read()),
    wakeApply: () => {
      woken.apply += 1;
    },
    wakeSend: () => {
      woken.send += 1;
    },
    keepHead: async () => {},
    onFatal: (error) => t.fail('nothing fatal happens', { error }),
    ...replaced,
  };
  const app = createApi(parts);
  add(app, parts);
  t.teardown(() => app.close());
  await app.ready();
  let tokens = 0;
  const create = async (scopes: readonly string[], limits: Pick<NewToken, 'person' | 'employers'> = {}) => {
    tokens += 1;
    const wish = { name: `token ${tokens}`, scopes, ...limits, expiresAt: null, now: NOW, actor: SYSTEM };
    return (await transact(db, (trx) => createToken(trx, wish))).token;
  };
  return {
    app,
    db,
    url,
    parts,
    logged,
    woken,
    call: (request) => call(app, request),
    tokenWith: (...scopes) => create(scopes),
    tokenFor: (employers, ...scopes) => create(scopes, { employers }),
    personWith: (person, ...scopes) => create(scopes, { person }),
  };
}

/** Throws if the reference does not describe the response. */
export async function call(app: Api, { method = 'GET', url, token = FIRST_TOKEN, headers, body }: Request) {
  const isText = typeof body === 'string' || Buffer.isBuffer(body);
  const answer = await app.inject({
    method,
    url,
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { payload: isText ? body : JSON.stringify(body) }),
  });
  const type = String(answer.headers['content-type'] ?? '');
  // NDJSON has one JSON text per line.
  const json = /[/+]json/.test(type) && answer.payload !== '' ? JSON.parse(answer.payload) : undefined;
  assertDescribed(app, method, url, answer.statusCode, type, json);
  return { status: answer.statusCode, headers: answer.headers, text: answer.payload, json };
}

type Media = { schema: object };
type Described = { content?: Record<string, Media>; $ref?: string };
// biome-ignore lint/suspicious/noExplicitAny: the reference is JSON; its own test checks its shape.
export type Reference = any;

/** The same for every listener. Generating it takes longer than most calls. */
let reference: Reference;
/** The paths of the reference with their patterns, paths without parameters first. */
let templates: [template: string, pattern: RegExp][];

function describe(app: Api): void {
  reference = app.swagger() as Reference;
  templates = Object.keys(reference.paths)
    .sort((one, other) => one.split('{').length - other.split('{').length)
    .map((template) => [template, new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`)]);
}

function assertDescribed(app: Api, method: string, url: string, status: number, type: string, json: unknown) {
  if (reference === undefined) describe(app);
  const path = url.replace(/\?.*$/s, '');
  const template = templates.find(([, pattern]) => pattern.test(path))?.[0];
  const operation = template === undefined ? undefined : reference.paths[template][method.toLowerCase()];
  const described: Described | undefined =
    operation === undefined
      ? { content: { 'application/problem+json': { schema: reference.components.schemas.Problem } } }
      : operation.responses[status];
  if (described === undefined)
    throw new Error(`${method} ${template} answered ${status}, which it does not describe`);
  if (json === undefined || path.startsWith('/docs/')) return;
  const { content } = described.$ref === undefined ? described : targetOf(reference, described.$ref);
  const media = content?.[type.split(';')[0] as string];
  if (media === undefined) throw new Error(`${method} ${template} answered ${status} as ${type}`);
  const problems = checkerOf(media.schema).problems(json);
  if (problems.length > 0) throw new Error(`${method} ${template} ${status}: ${JSON.stringify(problems)}`);
}

/** Checkers by the text of their schema, which names a component of the reference. Compiling one takes milliseconds. */
const checkers = new Map<string, ReturnType<typeof compile>>();

function checkerOf(schema: object) {
  const text = JSON.stringify(schema);
  let checker = checkers.get(text);
  if (checker === undefined) {
    checker = compile(resolve(reference, schema) as object);
    checkers.set(text, checker);
  }
  return checker;
}

/** Replaces every `$ref` with its target. Throws if the target does not exist. */
function resolve(reference: Reference, part: unknown): unknown {
  if (Array.isArray(part)) return part.map((one) => resolve(reference, one));
  if (typeof part !== 'object' || part === null) return part;
  if ('$ref' in part && typeof part.$ref === 'string')
    return resolve(reference, targetOf(reference, part.$ref));
  return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, resolve(reference, one)]));
}

function targetOf(reference: Reference, ref: string): Reference {
  const target = ref
    .split('/')
    .slice(1)
    .reduce((at, name) => at?.[name], reference);
  if (target === undefined) throw new Error(`${ref} leads nowhere`);
  return target;
}

function logInto(logged: Logged[]): Log {
  const at = (level: string) => (fields: LogFields, message: string) => {
    logged.push({ level, fields, message });
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
}
