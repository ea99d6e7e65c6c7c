/** The command that imports deductions. */
import { readDatabaseUrl } from '../config.ts';
import { describe } from '../contract/check.ts';
import { databaseNow, sharedClock } from '../database/engine.ts';
import { holdServeLock } from '../database/open.ts';
import type { Db } from '../database/tables.ts';
import { isAppError } from '../errors.ts';
import { createApplyLoop } from '../inbox/apply.ts';
import { IMPORT_COLUMNS, importDeductions } from '../inbox/import.ts';
import { hasPendingEvents } from '../inbox/inbox.ts';
import { silentLog } from '../telemetry/log.ts';
import { findRowsFile, ROWS_FILE } from './arguments.ts';
import { actingIn, type Command, type Context, withDatabase } from './command.ts';
import { inputRefused } from './failure.ts';
import { counted, printResult, withProgress } from './output.ts';

export function addImportCommands(program: Command): void {
  program
    .subcommand('import', 'Import the deductions that payroll takes today.')
    .subcommand('deductions', 'Import deductions into the ledger. The same file again changes nothing.')
    .records('deduction.import')
    .examples('import deductions deductions.csv', 'import deductions deductions.ndjson --json')
    .argument('<file>', `A ${ROWS_FILE} with the fields of a deduction, and created_at if known`)
    .json()
    .does(async (context, path: string) => {
      // Starts a ledger with the deductions that payroll takes today. One wrong row rejects all.
      const { out, now } = context;
      const file = await findRowsFile(path);
      await withDatabase(context, async (db) => {
        // The file is read twice: to check it, and to store it.
        const acting = actingIn(context, await databaseNow(db, now));
        const imported = await withProgress(out, 'bytes', 2 * file.size, ({ add }) =>
          importDeductions(db, () => file.open(IMPORT_COLUMNS, add), acting),
        );
        if (!imported.ok) throw inputRefused('the file', imported);
        const applied = await applyUnlessServed(context, db);
        const { rows, stored, warnings } = imported;
        const line = `${counted(rows, 'row')}: ${stored} imported, ${rows - stored} already imported`;
        printResult(out, { rows, imported: stored, applied, warnings }, line);
        for (const warning of warnings) out.note(describe(warning));
        if (!applied) out.note('The running sidecar applies them now.');
      });
    });
}

/**
 * Applies pending events, as `serve` does. Returns false if a running `serve` applies them. It holds the serve lock,
 * so no `serve` can start on the file until it is done. On PostgreSQL it is one applier among the sidecars.
 */
async function applyUnlessServed({ env, now }: Context, db: Db): Promise<boolean> {
  let release: () => void;
  try {
    release = holdServeLock(readDatabaseUrl(env));
  } catch (error) {
    if (isAppError(error, 'ALREADY_SERVED')) return false;
    throw error;
  }
  try {
    const loop = createApplyLoop({
      db,
      sharedNow: sharedClock(now),
      log: silentLog,
      onApplied: () => {},
      onFatal: () => {},
    });
    while (await hasPendingEvents(db)) await loop.runOnce();
    return true;
  } finally {
    release();
  }
}
