/**
 * An operation of the API as a value, and the one way to run it without HTTP. `http.ts` registers operations with the private
 * listener, and the command line performs them on its own database.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Static, TSchema, TUnsafe } from 'typebox';
import type { ReadinessLimits } from '../config.ts';
import type { Columns } from '../formats/rows.ts';
import type { Action, Actor } from '../security/audit.ts';
import type { Caller } from '../security/tokens.ts';
import type { RunWork } from '../telemetry/counts.ts';
import { assertScope, by, type RouteScope } from './auth.ts';
import { assertNotLimited, assertVisible, type EmployerRule } from './employers.ts';
import { idempotencyKeyOf, ifMatchOf } from './headers.ts';
import { invalid } from './problem.ts';
import type { ProblemCode } from './problem-types.ts';
import type { ApiParts } from './route.ts';
import { checked } from './validation.ts';

/** What operations run with. The command line has them too. */
export type Parts = ReadinessLimits &
  Pick<
    ApiParts,
    | 'db'
    | 'now'
    | 'sharedNow'
    | 'log'
    | 'encryptor'
    | 'firstToken'
    | 'clockWarning'
    | 'employeeSets'
    | 'runReviews'
    | 'receiving'
    | 'censusFrom'
    | 'censusMaxAgeMs'
    | 'mayFetch'
    | 'wakeApply'
    | 'wakeSend'
    | 'keepHead'
  > & {
    /** Applies pending events, unless a running sidecar does. Returns whether it did. Only on the command line. */
    readonly applyPending?: () => Promise<boolean>;
  };

/** Who calls an operation. */
export type Identity = {
  /** Null on public operations. */
  readonly caller: Caller | null;
  /** The cookie of a console session; null for other callers. */
  readonly session: string | null;
  /** Returns who acts, for the audit record. Throws INVALID_REQUEST if `X-Acting-User` is too long. */
  readonly actor: () => Actor;
  /** Notes that a part of a call was refused with this status, which may be a probe of other employers' ids. */
  readonly noteRefused: (status: number) => void;
};

/** A checked call. */
export type Call<P = unknown, Q = unknown, B = unknown> = Identity & {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** Null without one, and for `*`. */
  readonly ifMatch: string | null;
  readonly idempotencyKey: string | null;
};

type Fields = Readonly<Record<string, string | number | undefined>>;

type Headers = Readonly<Record<string, string>>;

/** All rows of a list, for a file. Its JSON is newline-delimited. */
export type Files<Row extends object = object> = {
  readonly rows: AsyncGenerator<Row[]>;
  csv(rows: AsyncIterable<readonly Row[]>): Readable;
  readonly headers?: Headers;
};

/** `P`, `Q` and `B` are the schemas of params, query and body, and `R` is the result. */
export type Operation<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
  R = unknown,
> = {
  readonly id: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly scope: RouteScope;
  readonly employers: EmployerRule;
  /** What it records; `none` if it changes nothing. Required unless it is a GET. */
  readonly action?: Action | 'none';
  /** It reads and changes nothing that is stored. */
  readonly isPure?: true;
  /** Its body only says what to read, such as names, which belong in no address. */
  readonly isLookUp?: true;
  /** For the console and the commands: an integration has no use for it, and it may change with them. */
  readonly isForConsole?: true;
  readonly summary: string;
  readonly description?: string;
  readonly params?: P;
  readonly query?: Q;
  /** The headers that the operation reads, such as `if-match` and `idempotency-key`. */
  readonly headers?: TSchema;
  readonly body?: B;
  /** A missing body is `{}`. */
  readonly isBodyOptional?: true;
  /** A domain function checks the body, with better messages than a schema has. */
  readonly isBodyUnchecked?: true;
  /** The columns of a body that is a file of rows. Its call has a function that opens the rows, which the domain checks. */
  readonly rows?: Columns;
  /** The function may be called again, and then opens the rows from the beginning. */
  readonly areRowsRepeatable?: true;
  /** How a body is read that is too large to be held. The domain checks it. */
  readonly stream?: BodyStream<Static<B>>;
  readonly response: Readonly<Record<number, TSchema>>;
  /** A response that takes long to send. At most `atOnce` of its kind, named in the plural, are sent at once. */
  readonly streams?: { readonly what: string; readonly atOnce: number };
  readonly refuses?: readonly ProblemCode[];
  /** In bytes, if the body may be larger than others. */
  readonly bodyLimit?: number;
  /** The name of its metric, if it computes or compares the lines of a payroll run. */
  readonly runWork?: RunWork;
  /** Runs a checked call of a caller who may make it. A stream is sent as the first content type of the response. */
  run(call: CallOf<P, Q, B>, parts: Parts): Promise<R | Answer<R>>;
  /**
   * Of a list: all its rows. With it, HTTP offers the list also as CSV and as newline-delimited JSON, its command has `--csv`,
   * and the reference describes both.
   */
  files?(call: CallOf<P, Q, B>, parts: Parts, format: 'csv' | 'ndjson'): Promise<Files>;
  /** Returns its one log line, or null if nothing changed. Not called for an answer that is unchanged. */
  logs?(call: CallOf<P, Q, B>, result: R): readonly [Fields, string] | null;
};

/** How the bodies of some operations are sent and read over HTTP piece by piece. */
export type BodyStream<B> = {
  /** Their name, in the plural. At most `atOnce` are read at once. */
  readonly what: string;
  readonly atOnce: number;
  readonly types: readonly string[];
  readonly bytesMax: number;
  readonly tooLarge: string;
  /** Returns the body of a call from a request. */
  open(content: AsyncIterable<Uint8Array>, headers: IncomingHttpHeaders): B | Promise<B>;
  /** Returns the request of a body, for the command line. */
  send(body: B): { readonly content: AsyncIterable<Uint8Array>; readonly headers: Headers };
};

type CallOf<P extends TSchema, Q extends TSchema, B extends TSchema> = Call<Static<P>, Static<Q>, Static<B>>;

type Details = { status?: number; headers?: Headers; isUnchanged?: boolean; logged?: Fields };

/** A result with what its operation cannot declare: another status, headers, or that the call changed nothing. */
export class Answer<R> {
  readonly result: R;
  readonly status: number | null;
  readonly headers: Headers;
  /** The call changed nothing, such as a repeat. */
  readonly isUnchanged: boolean;
  /** Fields of the log line that the result lacks. */
  readonly logged: Fields;

  constructor(result: R, { status, headers = {}, isUnchanged = false, logged = {} }: Details) {
    this.result = result;
    this.status = status ?? null;
    this.headers = headers;
    this.isUnchanged = isUnchanged;
    this.logged = logged;
  }
}

/** Returns the result of an operation that made something. */
export function created<R>(result: R): Answer<R> {
  return new Answer(result, { status: 201 });
}

/** Tells the command line which release answered. */
export const VERSION_HEADER = 'sidecar-version';

/** Tells the command line that a request changed nothing (`Answer.isUnchanged`). */
export const UNCHANGED_HEADER = 'sidecar-unchanged';

/** Declares an operation, typed by its schemas. */
export function operation<
  const P extends TSchema = TUnsafe<object>,
  const Q extends TSchema = TUnsafe<object>,
  const B extends TSchema = TUnsafe<undefined>,
  R = unknown,
>(value: Operation<P, Q, B, R>): Operation<P, Q, B, R> {
  DECLARED.set(value, declared++);
  return value;
}

let declared = 0;
/** The operations by their place among all declarations. */
const DECLARED = new WeakMap<object, number>();

/** Returns the operations that a file exports, in the order of their declaration. */
export function operationsIn(file: object): Operation[] {
  const operations = Object.values(file).filter((value) => DECLARED.has(value));
  return operations.sort((left, right) => Number(DECLARED.get(left)) - Number(DECLARED.get(right)));
}

/** Runs a checked call and writes its log line. */
export async function runCall<R>(
  op: Operation<TSchema, TSchema, TSchema, R>,
  call: Call,
  parts: Parts,
): Promise<Answer<R>> {
  const answered = await op.run(call, parts);
  const answer = answered instanceof Answer ? answered : new Answer(answered, {});
  const line = answer.isUnchanged ? null : (op.logs?.(call, answer.result) ?? null);
  if (line !== null) parts.log.info({ ...line[0], ...answer.logged, ...by(call) }, line[1]);
  return answer;
}

/** The input of an operation, unchecked. */
export type Input = {
  readonly params?: object;
  readonly query?: object;
  readonly body?: unknown;
  readonly ifMatch?: string | undefined;
  readonly idempotencyKey?: string | undefined;
};

export type BodyOf<O> = O extends Operation<infer _P, infer _Q, infer B> ? Static<B> : never;
export type ResultOf<O> = O extends Operation<infer _P, infer _Q, infer _B, infer R> ? R : never;
/** A row of a list. */
export type RowOf<O> = ResultOf<O> extends { readonly data: readonly (infer Row)[] } ? Row : never;

/** Checks the caller and the input, and runs the operation. Throws the refusal of either. */
export async function perform<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
  op: Operation<P, Q, B, R>,
  input: Input,
  identity: Identity,
  parts: Parts,
): Promise<Answer<R>> {
  const call = await checkedCall(op as unknown as Operation, input, identity, parts);
  return runCall(op as unknown as Operation<TSchema, TSchema, TSchema, R>, call, parts);
}

/** Does the same for all rows of a list. */
export async function performFiles<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
  op: Operation<P, Q, B, R>,
  input: Input,
  format: 'csv' | 'ndjson',
  identity: Identity,
  parts: Parts,
): Promise<Files> {
  const call = await checkedCall(op as unknown as Operation, input, identity, parts);
  return filesOf(op as unknown as Operation, call, parts, format);
}

/** Returns all rows of a list for a checked call. Throws INVALID_REQUEST for the parameters of a page. */
export async function filesOf(
  op: Operation,
  call: Call,
  parts: Parts,
  format: 'csv' | 'ndjson',
): Promise<Files> {
  if (op.files === undefined) throw new Error(`${op.id} has no files`);
  const query = call.query as Readonly<Record<string, unknown>>;
  const rule = 'must be omitted: a file has all rows';
  const present = ['cursor', 'limit'].filter((name) => query[name] !== undefined);
  if (present.length > 0) throw invalid(present.map((path) => ({ path, rule })));
  return op.files(call, parts, format);
}

/** Checks the caller and the input. Throws the refusal of either. */
export async function checkedCall(
  op: Operation,
  { params = {}, query = {}, body, ifMatch, idempotencyKey }: Input,
  identity: Identity,
  parts: Parts,
): Promise<Call> {
  assertScope(identity.caller, op.scope);
  assertNotLimited(identity.caller, op.employers);
  const sent = body ?? (op.isBodyOptional ? {} : undefined);
  const call = {
    ...identity,
    params: checked(op.params, 'params', params),
    query: checked(op.query, 'querystring', query),
    body: isBodyChecked(op) ? checked(op.body, 'body', sent) : sent,
    ifMatch: ifMatchOf(ifMatch),
    idempotencyKey: idempotencyKeyOf(idempotencyKey),
  };
  await assertVisible(parts, op.employers, call);
  return call;
}

/** Returns the params of a call. Throws INVALID_REQUEST for an id or an ETag that the operation refuses. */
export function checkedParams(
  { params: schema }: Pick<Operation, 'params'>,
  { params = {}, ifMatch }: Pick<Input, 'params' | 'ifMatch'>,
): unknown {
  const values = checked(schema, 'params', params);
  ifMatchOf(ifMatch);
  return values;
}

/** Reports whether the operation's schema checks the body. */
export function isBodyChecked({ rows, stream, isBodyUnchecked }: Operation): boolean {
  return rows === undefined && stream === undefined && !isBodyUnchecked;
}
