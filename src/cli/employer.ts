/** The commands of an employer as a whole. */
import { exportEmployer } from '../api/operations/employers.ts';
import { type ArchiveOptions, writeArchive } from './archive.ts';
import type { Command } from './command.ts';
import { addOperation } from './operation-command.ts';

export function addEmployerCommands(program: Command): void {
  const employer = program.subcommand('employer', 'Take out what is kept of an employer.');
  addOperation(employer, 'export', exportEmployer, {
    description: 'Write an archive with everything that is kept of an employer.',
    examples: [
      '--employer maple-bakery maple-bakery.tar',
      '--employer maple-bakery maple-bakery.tar --personal-data',
    ],
    // `--personal-data` sets it.
    without: ['personal_data'],
    personalData: 'With the census and the bodies of changes and events, which are personal data',
    more: (command) => command.argument('<file>', 'The tar archive to create'),
    async input(context, named, { file, personalData = false }: ArchiveOptions) {
      const query = { personal_data: personalData };
      await writeArchive(context, file, () => context.perform(exportEmployer, { ...named, query }));
      return null;
    },
  });
}
