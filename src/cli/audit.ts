import type { ResultOf } from '../api/operation.ts';
import { listAuditRecords } from '../api/operations/audit.ts';
import { createDifferences } from '../database/difference.ts';
import { transact } from '../database/transaction.ts';
import { REASON_COLUMNS } from '../operations/reasons.ts';
import { findHead, headText, parseHead } from '../security/audit-chain.ts';
import { eraseReason } from '../security/reasons.ts';
import { compareHead, verifyAudit } from '../security/verify-audit.ts';
import { wholeNumber } from './arguments.ts';
import { actingIn, type Command, confirm } from './command.ts';
import { failed, ifStopped, unknownId, wrongUsage } from './failure.ts';
import { addOperation } from './operation-command.ts';
import {
  type Column,
  counted,
  employeeId,
  printFirst,
  printPairs,
  printResult,
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

type VerifyOptions = { head?: NonNullable<ReturnType<typeof parseHead>> };

function addVerify(audit: Command): void {
  audit
    .subcommand('verify', 'Recompute the chain of audit records, and compare it with heads that you kept.')
    .records('none')
    .examples('audit verify', `audit verify --head 311:${'5f'.repeat(32)}`)
    .option('--head <head>', 'The head from a finalized run, a backup or the API', headOf)
    .json()
    .doesOnDatabase(async ({ db, out, stopped }, options: VerifyOptions) => {
      // Only reads, also while `serve` runs. Returns 0 if the chain is intact and continues from the head.
      const differences = createDifferences(NAMED);
      const signal = stopped();
      const head = await findHead(db);
      await withProgress(out, 'records', head?.record_id ?? null, ({ add }) =>
        verifyAudit(db, { report: differences.report, looked: add, signal }),
      ).catch(ifStopped(signal, 'stopped before the end: the result is incomplete'));
      const isIntact = differences.total === 0;
      const compared = options.head === undefined ? null : await compareHead(db, options.head);
      const { result, because } = isIntact ? (compared ?? NOT_COMPARED) : ALTERED;
      const named = differences.named.map(
        ({ table, id, field, rule }) => `${table} ${id}: ${field}: ${rule}`,
      );
      const records = { head: head && headText(head), result, because };
      printResult(out, { ...records, difference_count: differences.total, differences: named }, () => {
        printPairs(out, {
          records: head?.record_id,
          head: records.head ?? 'missing',
          ...(result !== null && { result, because }),
        });
        printFirst(out, named, differences.total);
        if (isIntact) out.print(out.color('green', 'The chain is intact'));
        else out.print(out.color('red', `Altered: ${counted(differences.total, 'difference')}`));
      });
      return isIntact && (result === null || result === 'continues') ? 0 : 1;
    });
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
