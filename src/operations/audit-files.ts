/** Pages and files of audit records. */
import type { Readable } from 'node:stream';
import Type from 'typebox';
import { csvOf, harmless } from '../formats/csv.ts';
import { cursorOf } from '../formats/cursor.ts';
import type { AuditRecord } from '../security/audit-list.ts';

export const auditCursor = cursorOf('audit-records', Type.Integer({ minimum: 1 }));

/** The columns of a CSV file of records, in order. */
const CSV: readonly (readonly [name: string, cell: (record: AuditRecord) => string | null])[] = [
  ['id', ({ id }) => id],
  ['recorded_at', (record) => record.recorded_at],
  ['actor_kind', ({ actor }) => actor.kind],
  ['actor_issuer', ({ actor }) => actor.issuer],
  ['actor_id', ({ actor }) => actor.id],
  ['actor_name', ({ actor }) => actor.name],
  ['acting_user', ({ actor }) => actor.acting_user],
  ['action', ({ action }) => action],
  ['resource_type', (record) => record.resource_type],
  ['resource_id', (record) => record.resource_id],
  ['employer_id', (record) => record.employer_id],
  ['employee_id', (record) => record.employee_id],
  ['reason', ({ reason }) => reason],
  ['details', ({ details }) => JSON.stringify(details)],
  ['reason_hash', (record) => record.reason_hash],
  ['hash', ({ hash }) => hash],
];

export function csvOfRecords(pages: AsyncIterable<readonly AuditRecord[]>): Readable {
  const header = CSV.map(([name]) => name);
  return csvOf(header, pages, (record) => CSV.map(([, cell]) => harmless(cell(record) ?? '')));
}
