/** The commands of audit records. */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ResultOf } from '../api/operation.ts';
import { listAuditRecords } from '../api/operations/audit.ts';
import { readDataKeys } from '../config.ts';
import { createDifferences } from '../database/difference.ts';
import { transact } from '../database/transaction.ts';
import type { Environment } from '../environment.ts';
import { codeOf } from '../errors.ts';
import { REASON_COLUMNS } from '../operations/reasons.ts';
import { type HeadsVerified, verifyHeads } from '../operations/verify-heads.ts';
import { findHead, headText, parseHead } from '../security/audit-chain.ts';
import { eraseReason } from '../security/reasons.ts';
import { parsePublicKey, publicKeyText } from '../security/signed-heads.ts';
import { compareHead, verifyAudit } from '../security/verify-audit.ts';
import { wholeNumber } from './arguments.ts';
import { actingIn, type Command, confirm } from './command.ts';
import { failed, ifStopped, unknownId, wrongUsage } from './failure.ts';
import { addOperation } from './operation-command.ts';
import {
  type Column,
  counted,
  employeeId,
  type Output,
  printFirst,
  printPairs,
  printResult,
  printTable,
  withProgress,
} from './output.ts';

export function addAuditCommands(program: Command): void {
  const audit = program.subcommand('audit', 'List who did what, and verify that no record was altered.');
  addOperation(audit, 'list', listAuditRecords, {
    description: 'List audit records, newest first.',
    examples: ['--employer maple-bakery', '--action run.void --from 2026-07-01 --wide', '--csv'],
    columns: COLUMNS,
    none: 'No matching records.',
  });
  addVerify(audit);
  audit
    .subcommand('keys', 'Print the public keys that verify signed heads, for an auditor without DATA_KEYS.')
    .records('none')
    .examples('audit keys')
    .table()
    .does(async ({ env, out }) => {
      const keys = readDataKeys(env).map((key) => ({ id: key.id, public_key: publicKeyText(key) }));
      printResult(out, keys, () =>
        printTable(
          out,
          [
            ['data key', ({ id }) => id],
            ['public key', (key) => key.public_key],
          ],
          keys,
        ),
      );
    });
  audit
    .subcommand('erase-reason', 'Erase the reason of an audit record, for example because it names a person.')
    .records('reason.erase')
    .examples('audit erase-reason 311 --reason "it named an employee"')
    .argument('<record-id>', 'The ID of the record', wholeNumber(1, Number.MAX_SAFE_INTEGER))
    .reason('Why; stored with the record of the erasure')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, recordId: number, { reason }: { reason: string }) => {
      const { db, out } = context;
      const question =
        'Erase it? It cannot be restored. The chain stays intact, because it has only a keyed hash.';
      await confirm(context, [`The reason of record ${recordId}, and its copies.`], question);
      const how = { ...actingIn(context), reason };
      const erased = await transact(db, (trx) => eraseReason(trx, recordId, how, REASON_COLUMNS));
      if (erased === 'unknown') throw unknownId('record', String(recordId), 'audit list');
      if (erased === 'no-reason') throw failed(`record ${recordId} has no reason, or it was erased before`);
      printResult(out, { id: String(recordId), erased: true }, `Erased the reason of record ${recordId}`);
    });
}

type VerifyOptions = {
  head?: NonNullable<ReturnType<typeof parseHead>>;
  heads?: string;
  publicKey?: string[];
};

function addVerify(audit: Command): void {
  audit
    .subcommand('verify', 'Recompute the chain of audit records, and compare it with heads that you kept.')
    .records('none')
    .examples(
      ...['audit verify', `audit verify --head 311:${'5f'.repeat(32)}`],
      'audit verify --heads audit-heads.ndjson',
    )
    .option('--head <head>', 'The head from a finalized run, a backup or the API', headOf)
    .option('--heads <file>', 'The file of AUDIT_HEADS, or a log with signed heads')
    .option('--public-key <key...>', 'With --heads: the keys of "audit keys", instead of DATA_KEYS')
    .json()
    .doesOnDatabase(async ({ db, out, env, stopped }, options: VerifyOptions) => {
      // Only reads, also while `serve` runs. Returns 0 if the chain is intact and continues from all heads.
      const publicKeys = publicKeysOf(options, env);
      const differences = createDifferences(NAMED);
      const signal = stopped();
      const head = await findHead(db);
      await withProgress(out, 'records', head?.record_id ?? null, ({ add }) =>
        verifyAudit(db, { report: differences.report, looked: add, signal }),
      ).catch(ifStopped(signal, 'stopped before the end: the result is incomplete'));
      const isIntact = differences.total === 0;
      const compared = options.head === undefined ? null : await compareHead(db, options.head);
      const signed =
        options.heads === undefined
          ? null
          : await verifyHeads(db, linesOf(options.heads), publicKeys).catch(unreadable(options.heads));
      const { result, because } = isIntact ? (compared ?? NOT_COMPARED) : ALTERED;
      const named = differences.named.map(
        ({ table, id, field, rule }) => `${table} ${id}: ${field}: ${rule}`,
      );
      const records = { head: head && headText(head), result, because };
      printResult(
        out,
        { ...records, difference_count: differences.total, differences: named, signed_heads: signed },
        () => {
          printPairs(out, {
            records: head?.record_id,
            head: records.head ?? 'missing',
            ...(result !== null && { result, because }),
          });
          printFirst(out, named, differences.total);
          if (signed !== null) printSigned(out, signed);
          if (isIntact) out.print(out.color('green', 'The chain is intact'));
          else out.print(out.color('red', `Altered: ${counted(differences.total, 'difference')}`));
        },
      );
      const isContinued = result === null || result === 'continues';
      const areContinued =
        signed === null || (signed.result === 'continues' && signed.unsigned + signed.damaged === 0);
      return isIntact && isContinued && areContinued ? 0 : 1;
    });
}

function publicKeysOf({ heads, publicKey }: VerifyOptions, env: Environment) {
  if (heads === undefined) {
    if (publicKey === undefined) return [];
    throw wrongUsage('--public-key needs --heads');
  }
  return (publicKey ?? readDataKeys(env).map(publicKeyText)).map((text) => {
    const key = parsePublicKey(text);
    if (key !== null) return key;
    throw wrongUsage('--public-key must be a key that "benefits-sidecar audit keys" printed');
  });
}

function linesOf(path: string): AsyncIterable<string> {
  return createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
}

function unreadable(path: string) {
  return (error: unknown): never => {
    const code = codeOf(error);
    if (!/^E[A-Z]+$/.test(code)) throw error;
    throw failed(`${path} cannot be read (${code}): check the path`, { cause: error });
  };
}

function printSigned(
  out: Output,
  { heads, newest, result, unsigned, differing, damaged, named }: HeadsVerified,
): void {
  printPairs(out, {
    'signed heads': heads,
    'newest signed head': newest,
    ...{ 'not signed by a known key': unsigned, differing, 'damaged lines': damaged },
    'signed result': result ?? 'no head with a valid signature',
  });
  printFirst(out, named, unsigned + differing + damaged);
}

/** Differences that are printed. All are counted. */
const NAMED = 100;

const NOT_COMPARED = { result: null, because: null };
/** The differences say why. No record of a restore explains a chain that is broken. */
const ALTERED = { result: 'altered', because: 'the chain is broken' } as const;

type AuditRecord = ResultOf<typeof listAuditRecords>['data'][number];

const COLUMNS: readonly Column<AuditRecord>[] = [
  ['id', ({ id }) => id],
  ['time', (record) => record.recorded_at],
  ['action', ({ action }) => action],
  ['resource', (record) => record.resource_id],
  ['by', ({ actor }) => actor.name],
  ['employer', (record) => record.employer_id, 1],
  ['employee', employeeId, 2],
  ['reason', ({ reason }) => reason, 'cut'],
];

function headOf(text: string) {
  const head = parseHead(text);
  if (head !== null) return head;
  throw wrongUsage(
    '--head must be the ID of a record, a colon and a hash of 64 characters, such as 311:5f5f…',
  );
}
