/** Pages and files of audit records. */
import type { Readable } from 'node:stream';
import Type from 'typebox';
import type { Db } from '../database/tables.ts';
import { csvOf, harmless } from '../formats/csv.ts';
import { allPages, type ListPage, type PageRequest, pagesBy } from '../formats/cursor.ts';
import { type AuditFilter, type AuditRecord, selectRecords, viewRecord } from '../security/audit-list.ts';

export const AUDIT_ORDERS = ['newest_first', 'oldest_first'] as const;
type AuditOrder = (typeof AUDIT_ORDERS)[number];

const recordPage = pagesBy('audit-records', { record_id: Type.Integer({ minimum: 1 }) });

/** Returns a page of records, by default the newest first. */
export async function listRecords(
  db: Db,
  filter: AuditFilter,
  { order, ...request }: PageRequest & { readonly order?: AuditOrder | undefined },
): Promise<ListPage<AuditRecord>> {
  const by = order === 'oldest_first' ? 'asc' : 'desc';
  const page = await recordPage(selectRecords(db, filter).selectAll(), { ...request, order: by });
  return { ...page, data: page.data.map(viewRecord) };
}

/** Rows of a page of a file: a few hundred kilobytes. */
const ROWS_AT_ONCE = 500;

/** Yields all records that match, in pages. */
export function allRecords(
  db: Db,
  filter: AuditFilter,
  order: AuditOrder | undefined,
): AsyncGenerator<AuditRecord[]> {
  return allPages((cursor) => listRecords(db, filter, { cursor, limit: ROWS_AT_ONCE, order }));
}

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
