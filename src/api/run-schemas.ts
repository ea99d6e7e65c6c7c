/** The requests of payroll runs as the API describes them. */
import Type from 'typebox';
import * as field from '../contract/fields.ts';
import { RUN_ID_PATTERN, RunBody } from '../payroll/records/body.ts';

const RUN_DEFAULTS = { kind: 'regular' } as const;

/** The body of a run for the reference: the schema that it is checked by, with its default. */
export const DescribedRunBody = field.named(
  'PayrollRunRequest',
  Type.Unsafe<unknown>({
    ...RunBody,
    description: 'The definition of a payroll run.',
    properties: { ...RunBody.properties, kind: { ...RunBody.properties.kind, default: RUN_DEFAULTS.kind } },
  }),
);

export const RunId = field.closed({
  run_id: Type.String({
    pattern: RUN_ID_PATTERN,
    rule: 'must be 1 to 128 of A-Z a-z 0-9 . _ -, and not only one or two dots',
    description: 'The ID of the run: 1 to 128 of A-Z a-z 0-9 . _ -, not only one or two dots',
  }),
});
