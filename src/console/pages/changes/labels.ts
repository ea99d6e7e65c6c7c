/** Names and columns of employment changes. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import type { getEmployeeChange, listEmployeeChanges } from '../../../api/operations/employee-changes.ts';
import { instant } from '../../elements/format.ts';
import { changePath } from '../../elements/links.ts';
import type { Column } from '../../elements/list.ts';
import { html } from '../../html.ts';

export type Change = ResultOf<typeof getEmployeeChange>;
export type Summary = RowOf<typeof listEmployeeChanges>;

export const KINDS: Readonly<Record<Change['kind'], string>> = {
  'new-hire': 'New hire',
  termination: 'Termination',
  demographic: 'Address change',
  'compensation-change': 'Pay or status change',
};
export const STATES: Readonly<Record<Change['state'], string>> = {
  pending: 'It is sent automatically, and retried until the service responds.',
  sending: 'It is being sent now.',
  rejected: 'The service rejected it.',
  delivered: 'The service accepted it. Its contents have been deleted here.',
  canceled: 'It will not be sent, and its contents have been deleted.',
};
export const CHANGE_COLUMN: Column<Summary> = [
  'Change',
  ({ id, kind }) => html`<a href=${changePath(id)}>${KINDS[kind]}</a>`,
  'name',
];
export const ACCEPTED_COLUMN: Column<Summary> = ['Accepted', ({ created_at }) => instant(created_at), 'date'];
