/** The cursor and the bodies of employment changes, shared by the API and the command line. */
import Type, { type TObject } from 'typebox';
import { CompensationChange, Demographic, NewHire, Termination } from '../contract/employment.ts';
import { named } from '../contract/fields.ts';
import { cursorOf } from '../formats/cursor.ts';
import { EffectiveOn } from '../ledger/effective-on.ts';
import type { ChangeKind } from './change.ts';

/** The position of a page in the list of changes. */
export const changeCursor = cursorOf('employee-changes', Type.Integer({ minimum: 1 }));

/** The body of each kind of change as a caller sends it: the contract's fields and `effective_on`. */
export const CHANGE_SCHEMAS = {
  'new-hire': withEffectiveOn('NewHire', NewHire),
  termination: withEffectiveOn('Termination', Termination),
  demographic: withEffectiveOn('Demographic', Demographic),
  'compensation-change': withEffectiveOn('CompensationChange', CompensationChange),
} as const satisfies Record<ChangeKind, object>;

function withEffectiveOn<S extends TObject>(name: string, schema: S) {
  return named(name, { ...schema, properties: { ...schema.properties, effective_on: EffectiveOn } });
}
