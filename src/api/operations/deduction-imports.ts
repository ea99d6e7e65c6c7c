/** The import of deductions from before the sidecar existed. */
import Type from 'typebox';
import { Deduction } from '../../contract/deduction.ts';
import * as field from '../../contract/fields.ts';
import { IMPORT_COLUMNS, importDeductions as importRows } from '../../inbox/import.ts';
import { throughRowFormat } from '../../payroll/settings/row-files.ts';
import { actingIn, mayAlso } from '../auth.ts';
import { assertKnownFilter, assertOwnEmployer, employersOf } from '../employers.ts';
import { NullableRepairs, viewRepairs } from '../file-repairs.ts';
import { Answer, operation } from '../operation.ts';
import { invalid } from '../problem.ts';
import { fileOf, flag, idFilter } from '../schemas.ts';

const ImportedDeduction = field.component(
  'ImportedDeduction',
  {
    ...Deduction.properties,
    id: Type.Optional({
      ...Deduction.properties.id,
      description: 'The ID of the benefits service. Without it, the row becomes a placeholder.',
    }),
    created_at: Type.Optional(
      field.text('The time of this state. Required for several states of one deduction.'),
    ),
  },
  'A deduction as the service sends it in events. Amounts are texts.',
);

const Imported = field.component(
  'DeductionImport',
  {
    rows: field.integer('The number of rows in the file.'),
    placeholders: field.integer('The number of rows without an ID of the benefits service.'),
    imported: field.integer('The number of rows that are new.'),
    repairs: NullableRepairs,
    applied: field.boolean('Whether the rows were applied. If not, a sidecar applies them now.'),
    warnings: Type.Array(field.FieldProblem, {
      description:
        'Rows of employees whose ID is similar to one of the roster, and rows without an ID of which the service has sent the deduction. They block nothing.',
    }),
  },
  'The result of an import.',
);

export const importDeductions = operation({
  id: 'importDeductions',
  method: 'POST',
  path: '/v1/deductions/import',
  scope: ['events:write', 'runs:write'],
  employers: 'request',
  action: 'deduction.import',
  summary: 'Import deductions',
  description:
    'Stores each row as an event, for the deductions that the service sent before the sidecar existed. One invalid row rejects the whole file. ' +
    'Importing the same rows again changes nothing. A row without `id` becomes a placeholder. The first deduction of the service for the same employee, line of coverage and taxability replaces the placeholder from the start of that deduction. ' +
    'A token that is limited to employers or lacks the scope `events:write` must name an `employer_id`. Its rows may name only employees of this employer, and no deduction that the service has sent. ' +
    'Send JSON `{"deductions": […]}`, newline-delimited JSON, or CSV in UTF-8 with a header of the same names. At most 64 MiB.',
  query: field.closed({
    employer_id: idFilter(
      'The employer whose file format of the kind `deductions` reads a CSV. Without it, a CSV must be strict.',
    ),
    preview: flag(
      'Whether the file is only checked. `imported` is then the number of rows that would be new. Default: false.',
    ),
  }),
  body: fileOf(
    field.component('DeductionImportRequest', { deductions: Type.Array(ImportedDeduction, { minItems: 1 }) }),
  ),
  rows: IMPORT_COLUMNS,
  areRowsRepeatable: true,
  response: { 200: Imported },
  refuses: ['NOT_FOUND', 'TOO_SLOW', 'ROWS_REFUSED'],
  async run(call, parts) {
    const { db, sharedNow, wakeApply, applyPending } = parts;
    const { employer_id, preview = false } = call.query;
    if (employer_id !== undefined) assertOwnEmployer(call, employer_id);
    await assertKnownFilter(call, parts, employer_id);
    const isOwnOnly = employersOf(call) !== null || !mayAlso(call.caller, 'events:write');
    if (isOwnOnly && employer_id === undefined)
      throw invalid([
        {
          path: 'employer_id',
          rule: 'is required for a token that is limited to employers or lacks the scope events:write',
        },
      ]);
    const through =
      employer_id === undefined ? null : await throughRowFormat(parts, employer_id, 'deductions');
    const { rows, placeholders, stored, warnings } = await importRows(
      db,
      () => call.body(through?.reader()),
      actingIn(call, await sharedNow(db)),
      { noteRead: through?.noteRead, isPreview: preview, employerId: employer_id, isOwnOnly },
    );
    const repairs = through?.repairs() ?? null;
    if (!preview) wakeApply();
    const applied = !preview && ((await applyPending?.()) ?? false);
    const result = {
      ...{ rows, placeholders, imported: stored, applied, warnings },
      repairs: repairs && viewRepairs(repairs, call.caller),
    };
    return new Answer(result, { isUnchanged: preview || stored === 0 });
  },
  logs: (_call, { imported }) => [{ count: imported }, 'deductions were imported'],
});
