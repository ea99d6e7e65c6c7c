/** The command that writes the evidence for a payroll run. */
import { once } from 'node:events';
import { createWriteStream, rmSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { getEvidenceOfPayrollRun } from '../api/operations/evidence.ts';
import { codeOf } from '../errors.ts';
import type { Command } from './command.ts';
import { failed, ifStopped } from './failure.ts';
import { addOperation } from './operation-command.ts';
import { printResult } from './output.ts';

export function addEvidenceCommands(program: Command): void {
  const evidence = program.subcommand('evidence', 'Write the evidence for what payroll deducted.');
  addOperation(evidence, 'run', getEvidenceOfPayrollRun, {
    description: 'Write an archive with a final run, its events and its audit records.',
    examples: ['mb-2026-07 evidence.tar', 'mb-2026-07 evidence.tar --personal-data'],
    arguments: ['run_id'],
    // `--personal-data` sets it.
    without: ['personal_data'],
    personalData: 'With the bodies of events, which are personal data; the read is recorded',
    more: (command) => command.argument('<file>', 'The tar archive to create').records('run.read'),
    async input({ perform, out, stopped }, named, options: { file: string; personalData?: boolean }) {
      const { file, personalData = false } = options;
      // Before the operation, because it records a read of personal data.
      const target = createWriteStream(file, { mode: 0o600, flags: 'wx' });
      await once(target, 'open').catch((error) => {
        throw codeOf(error) === 'EEXIST' ? failed(`${file} exists: choose another file`) : error;
      });
      try {
        const query = { personal_data: personalData };
        const archive = await perform(getEvidenceOfPayrollRun, { ...named, query });
        const signal = stopped();
        await pipeline(archive, target, { signal }).catch(
          ifStopped(signal, 'stopped before the end: no archive was created'),
        );
      } catch (error) {
        target.destroy();
        rmSync(file, { force: true });
        throw error;
      }
      printResult(out, { file, bytes: target.bytesWritten }, `Wrote ${file}`);
      return null;
    },
  });
}
