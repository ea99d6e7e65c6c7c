/** How the command line performs operations of the API: in its own process, on the configured database. */
import type { TSchema } from 'typebox';
import {
  type Answer,
  type Files,
  type Identity,
  type Input,
  type Operation,
  type Parts,
  perform,
  performFiles,
} from '../api/operation.ts';
import { createParts } from '../api/parts.ts';
import { readAuditHeads, readCensus, readDatabaseUrl, readDataKeys, readReadinessLimits } from '../config.ts';
import { sharedClock } from '../database/engine.ts';
import { codeOf, isAppError } from '../errors.ts';
import type { OpenRows } from '../formats/rows.ts';
import { createHeadKeeper } from '../operations/audit-heads.ts';
import { readClockState } from '../operations/clock-check.ts';
import { SCOPES, type Scope } from '../security/scopes.ts';
import type { Log, LogFields } from '../telemetry/log.ts';
import type { RowsFile } from './arguments.ts';
import type { Context, DatabaseContext } from './command.ts';
import { failed } from './failure.ts';
import { addressOf } from './operation-failure.ts';
import { printable } from './output.ts';

/** The ways to perform an operation. Both throw the operation's refusal. */
export type Performers = {
  perform<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
    op: Operation<P, Q, B, R>,
    input: Input,
  ): Promise<Answer<R>>;
  /** Returns all rows of a list. */
  performFiles<P extends TSchema, Q extends TSchema, B extends TSchema, R>(
    op: Operation<P, Q, B, R>,
    input: Input,
    format: 'csv' | 'ndjson',
  ): Promise<Files>;
};

/** The user of the operating system: every scope but personal data, and no person, who could approve. */
const OPERATOR = {
  ...{ tokenId: null, identity: null, name: 'command line', person: null, employers: null },
  scopes: SCOPES.filter((scope) => scope !== 'all' && scope !== 'pii:read'),
};

/** Performs operations that need no database. */
export function performPure(context: Context): Performers {
  return performersOf(context, OPERATOR.scopes, { log: SILENT } as Parts);
}

export function performIn(context: DatabaseContext, withPersonalData = false): Performers {
  const scopes = withPersonalData ? [...OPERATOR.scopes, 'pii:read' as const] : OPERATOR.scopes;
  return performersOf(context, scopes, partsOf(context));
}

function performersOf({ actor }: Context, scopes: readonly Scope[], parts: Parts): Performers {
  const identity: Identity = {
    ...{ caller: { ...OPERATOR, scopes }, session: null, actor: () => actor },
    noteRefused() {},
  };
  return {
    async perform(op, input) {
      addressOf(op, input);
      return perform(op, { ...input, body: bodyOf(op, input) }, identity, parts);
    },
    async performFiles(op, input, format) {
      addressOf(op, input);
      return performFiles(op, input, format, identity, parts);
    },
  };
}

/** A file of rows is read here; a running sidecar gets its bytes. */
function bodyOf({ rows }: Pick<Operation, 'rows'>, { body }: Input): unknown {
  if (rows === undefined) return body;
  const open: OpenRows = (through) => (body as RowsFile).open(rows, through);
  return open;
}

/** What a command prints is its log. */
const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} };

function partsOf(context: DatabaseContext): Parts {
  const { db, env, now } = context;
  const sharedNow = sharedClock(now);
  const settings = {
    get dataKeys() {
      return readDataKeys(env);
    },
    get census() {
      return readCensus(env);
    },
    get silentAfterMs() {
      return readReadinessLimits(env).silentAfterMs;
    },
  };
  return createParts(settings, {
    ...{ db, now, sharedNow, log: SILENT, firstToken: null },
    clockWarning: () => readClockState(db, { now, sharedNow }),
    keepHead: () => keepHead(context),
    receiving: async () => {
      throw failed('deliveries are counted by the sidecar that receives them, not by commands');
    },
    // A running sidecar looks for work itself.
    wakeApply() {},
    async applyPending() {
      const { applyUnlessServed } = await import('../inbox/apply-unless-served.ts');
      return applyUnlessServed(db, readDatabaseUrl(env), now);
    },
    wakeSend() {},
  });
}

/** Appends the signed head to the file of `AUDIT_HEADS`. A running sidecar writes it to its log within a minute. */
async function keepHead({ db, env, out, now }: DatabaseContext): Promise<void> {
  const noteFailure = (why: string) =>
    out.note(`The run is final, but its head could not be written to AUDIT_HEADS (${printable(why)}).`);
  try {
    const auditHeads = readAuditHeads(env);
    if (auditHeads.to !== 'file') return;
    const log = { ...SILENT, error: ({ code }: LogFields) => noteFailure(String(code)) };
    await createHeadKeeper({ db, now, log, auditHeads, dataKeys: readDataKeys(env) }).keep();
  } catch (error) {
    noteFailure(isAppError(error, 'CONFIG') ? error.message : codeOf(error));
  }
}
