/** The command that writes the evidence for a payroll run. */
import { createWriteStream, existsSync, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { transact } from '../database/transaction.ts';
import { tarOf } from '../formats/tar.ts';
import { evidenceOf } from '../operations/evidence.ts';
import { record } from '../security/audit.ts';
import { actingIn, type Command } from './command.ts';
import { failed, ifStopped } from './failure.ts';
import { printResult } from './output.ts';
import { storedRun } from './run/show.ts';

export function addEvidenceCommands(program: Command): void {
  program
    .subcommand('evidence', 'Write the evidence for what payroll deducted.')
    .subcommand('run', 'Write an archive with a final run, its events and its audit records.')
    .records('run.read')
    .examples('evidence run mb-2026-07 evidence.tar')
    .argument('<run-id>', 'The id of a finalized or voided run')
    .argument('<file>', 'The tar archive to create; it has the bodies of events, which are personal data')
    .json()
    .doesOnDatabase(async (context, runId: string, file: string) => {
      const { db, out, now, stopped } = context;
      const stored = await storedRun(db, runId);
      if (stored.state === 'open') throw failed(`${runId} is open: finalize it first`);
      if (existsSync(file)) throw failed(`${file} exists: choose another file`);
      const { employer_id: employer } = stored;
      const read = { action: 'run.read', resource: runId, employer } as const;
      await transact(db, (trx) => record(trx, actingIn(context), read));
      const signal = stopped();
      const files = evidenceOf(db, stored, { bodies: true, viewer: null, now: now() });
      const target = createWriteStream(file, { mode: 0o600, flags: 'wx' });
      await pipeline(tarOf(files, now()), target, { signal })
        .catch((error: unknown) => {
          rmSync(file, { force: true });
          throw error;
        })
        .catch(ifStopped(signal, 'stopped before the end: no archive was created'));
      printResult(out, { file, bytes: target.bytesWritten }, `Wrote ${file}`);
    });
}
