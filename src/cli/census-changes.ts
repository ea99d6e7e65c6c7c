import type { Changes, Compared } from '../census/diff.ts';
import type { Output } from './output.ts';
import { printable } from './output.ts';

/** For people, of each kind of change; `--json` has more. */
const LISTED = 20;

/** What a census would change against the last upload: counts, then ids and names of fields, never a value. */
export function printChanges(out: Output, { lastUpload, changes }: Compared): void {
  if (lastUpload === null) {
    out.print('nothing to compare with: no census of this employer was uploaded yet');
    return;
  }
  const against = `the upload of ${lastUpload.uploadedAt}`;
  if (changes === null) {
    out.print(`${against} can not be compared: an older release staged it, or its hash key is gone`);
    return;
  }
  const { added, changed, absent, unchanged, organization } = changes;
  out.print(
    `against ${against}: ${added.count} added, ${changed.count} changed, ${absent.count} absent, ${unchanged} unchanged`,
  );
  if (organization.length > 0) out.print(`  organization: ${organization.join(', ')}`);
  for (const line of linesOf(changes)) out.print(printable(line));
}

function linesOf({ added, changed, absent }: Changes): string[] {
  return [
    ...listed('added', added.count, added.employeeIds),
    ...listed(
      'changed',
      changed.count,
      changed.employees.map(({ employeeId, fields }) => `${employeeId}: ${fields.join(', ')}`),
    ),
    ...listed('absent', absent.count, absent.employeeIds),
  ];
}

function listed(what: string, count: number, all: readonly string[]): string[] {
  const lines = all.slice(0, LISTED).map((one) => `  ${what} ${one}`);
  return count > lines.length ? [...lines, `  … and ${count - lines.length} more ${what}`] : lines;
}
