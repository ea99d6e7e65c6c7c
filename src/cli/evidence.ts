/** The command that writes the evidence for a payroll run. */
import { getEvidenceOfPayrollRun } from '../api/operations/evidence.ts';
import { type ArchiveOptions, writeArchive } from './archive.ts';
import type { Command } from './command.ts';
import { addOperation } from './operation-command.ts';

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
    async input(context, named, { file, personalData = false }: ArchiveOptions) {
      const query = { personal_data: personalData };
      await writeArchive(context, file, () => context.perform(getEvidenceOfPayrollRun, { ...named, query }));
      return null;
    },
  });
}
