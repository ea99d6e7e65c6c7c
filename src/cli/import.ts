/** The command that imports deductions. */
import { importDeductions } from '../api/operations/deduction-imports.ts';
import { describe } from '../contract/check.ts';
import type { Command } from './command.ts';
import { printRepairs } from './file-formats.ts';
import { addOperation } from './operation-command.ts';
import { counted, printable } from './output.ts';

export function addImportCommands(program: Command): void {
  const importing = program.subcommand('import', 'Import the deductions that payroll takes today.');
  addOperation(importing, 'deductions', importDeductions, {
    description: 'Import deductions into the ledger. The same file again changes nothing.',
    examples: ['deductions.csv --preview', 'export.csv --employer maple-bakery', 'deductions.ndjson --json'],
    file: 'deductions with the fields of their events, without id if unknown, and created_at if known',
    help: { employer_id: 'The employer whose file format of the kind deductions reads a .csv file' },
    print(out, { rows, placeholders, imported, applied, warnings, repairs }, { preview }) {
      printRepairs(out, repairs);
      const state = preview === true ? 'new' : 'imported';
      out.print(`${counted(rows, 'row')}: ${imported} ${state}, ${rows - imported} already imported`);
      if (placeholders > 0)
        out.note(
          `${counted(placeholders, 'row')} without an ID of the service: see deductions list --placeholder open`,
        );
      for (const warning of warnings) out.note(printable(describe(warning)));
      if (preview !== true && !applied && imported > 0) out.note('The running sidecar applies them now.');
    },
  });
}
