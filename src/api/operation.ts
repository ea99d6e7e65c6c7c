/**
 * An operation of the API as a value, and the one way to run it without HTTP. `http.ts` registers operations with the private
 * listener, and the command line performs them on its own database.
 */
import type { Readable } from 'node:stream';
import type { Static, TSchema, TUnsafe } from 'typebox';
import type { Db } from '../database/tables.ts';
import type { ListPage } from '../formats/cursor.ts';
import type { Columns } from '../formats/rows.ts';
import type { Action, Actor } from '../security/audit.ts';
import type { Caller } from '../security/tokens.ts';
import { assertScope, by, type RouteScope } from './auth.ts';
import { assertNotLimited, assertVisible, type EmployerRule } from './employers.ts';
import type { ProblemCode } from './problem.ts';
import type { ApiParts } from './route.ts';
import { checked } from './validation.ts';

/** What operations run with. */
export type Parts = Pick<ApiParts, 'db' | 'now' | 'log'>;

/** Who calls an operation. */
export type Identity = {
  /** Null on public operations. */
  readonly caller: Caller | null;
  /** The cookie of a console session; null for other callers. */
  readonly session: string | null;
  /** Returns who acts, for the audit record. Throws INVALID_REQUEST if `X-Acting-User` is too long. */
  readonly actor: () => Actor;
};

/** A checked request. */
export type Call<P = unknown, Q = unknown, B = unknown> = Identity & {
  readonly params: P;
  readonly query: Q;
  readonly body: B;
};

type Fields = Readonly<Record<string, string | number | undefined>>;

/** All rows of a list whose pages are `R`, for files. */
type Files<C, R> = {
  all(call: C, parts: Parts): AsyncGenerator<RowOf<R>[]>;
  csv(rows: AsyncIterable<readonly RowOf<R>[]>): Readable;
};
type RowOf<R> = R extends ListPage<infer Row> ? Row : never;

/** `P`, `Q` and `B` are the schemas of params, query and body, and `R` is the result. */
export type Operation<
  P extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  B extends TSchema = TSchema,
  R = unknown,
> = {
  readonly id: string;
  /** Its heading in the reference. */
  readonly group: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly scope: RouteScope;
  readonly employers: EmployerRule;
  /** What it records; `none` if it changes nothing. Required unless it is a GET. */
  readonly action?: Action | 'none';
  readonly summary: string;
  readonly description?: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
  /** The columns of a body that is a file of rows. Its call has `Rows`, which the domain checks. */
  readonly rows?: Columns;
  readonly response: Readonly<Record<number, TSchema>>;
  readonly refuses?: readonly ProblemCode[];
  /** In bytes, if the body may be larger than others. */
  readonly bodyLimit?: number;
  /** Runs a checked call of a caller who may make it. */
  run(call: CallOf<P, Q, B>, parts: Parts): Promise<R | Created<R>>;
  /** Of a list that is also offered as CSV and as newline-delimited JSON. */
  readonly files?: Files<CallOf<P, Q, B>, R>;
  /** Returns its one log line, or null if nothing changed. */
  logs?(call: CallOf<P, Q, B>, result: R): readonly [Fields, string] | null;
};

type CallOf<P extends TSchema, Q extends TSchema, B extends TSchema> = Call<Static<P>, Static<Q>, Static<B>>;

/** The result of an operation that made something: a 201. */
export class Created<R> {
  readonly result: R;

  constructor(result: R) {
    this.result = result;
  }
}

/** Declares an operation, typed by its schemas. */
export function operation<
  const P extends TSchema = TUnsafe<object>,
  const Q extends TSchema = TUnsafe<object>,
  const B extends TSchema = TUnsafe<undefined>,
  R = unknown,
>(value: Operation<P, Q, B, R>): Operation<P, Q, B, R> {
  return value;
}

/** Runs a checked call and writes its log line. */
export async function runCall(op: Operation, call: Call, parts: Parts): Promise<unknown> {
  const answer = await op.run(call, parts);
  const line = op.logs?.(call, answer instanceof Created ? answer.result : answer) ?? null;
  if (line !== null) parts.log.info({ ...line[0], ...by(call) }, line[1]);
  return answer;
}

/** The input of an operation, unchecked. */
export type Input = { readonly params?: object; readonly query?: object; readonly body?: unknown };

export type BodyOf<O> = O extends Operation<infer _P, infer _Q, infer B> ? Static<B> : never;
export type ResultOf<O> = O extends Operation<infer _P, infer _Q, infer _B, infer R> ? R : never;

/** Checks the caller and the input, and runs the operation. Throws the refusal of either. */
export async function perform<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
  op: Operation<P, Q, B, R>,
  { params = {}, query = {}, body }: Input,
  identity: Identity,
  parts: Parts,
): Promise<R> {
  assertScope(identity.caller, op.scope);
  assertNotLimited(identity.caller, op.employers);
  const call = {
    ...identity,
    params: checked(op.params, 'params', params),
    query: checked(op.query, 'querystring', query),
    body: op.rows === undefined ? checked(op.body, 'body', body) : body,
  };
  await assertVisible(parts, op.employers, call);
  const answer = await runCall(op as Operation, call, parts);
  return (answer instanceof Created ? answer.result : answer) as R;
}

/** Returns a function that makes something once for each database, such as what one call keeps for the next. */
export function perDatabase<T>(make: (db: Db) => T): (db: Db) => T {
  const made = new WeakMap<Db, T>();
  return (db) => {
    const known = made.get(db) ?? make(db);
    made.set(db, known);
    return known;
  };
}
