/** How an employer's files are read, by kind. The organization of a census is stored encrypted, because it names a person. */
import { isDeepStrictEqual } from 'node:util';
import Type from 'typebox';
import { CENSUS_FILE } from '../../census/reading.ts';
import { type Organization, organization as organizationChecker } from '../../contract/census.ts';
import { PROBLEMS_MAX, within } from '../../contract/check.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { conflict, type Problem, refused } from '../../errors.ts';
import {
  checkFormat,
  type FileFormat,
  type FileKind,
  type FileKindName,
  FORMAT_FIELDS,
} from '../../formats/file-format.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { DEDUCTIONS_FILE } from '../../inbox/deduction-file.ts';
import { type Acting, isRecordedBy } from '../../security/audit.ts';
import type { EncryptedColumn } from '../../security/encrypted-columns.ts';
import type { Encryptor, Place } from '../../security/encryption.ts';
import { type Fact, insertFacts } from '../../security/facts.ts';
import { lockPayroll } from './lock.ts';
import { PAYROLL_FILE } from './payroll-file.ts';

/** What the formats of each kind may name. */
export const FILES: Readonly<Record<FileKindName, FileKind>> = {
  census: CENSUS_FILE,
  deductions: DEDUCTIONS_FILE,
  payroll: PAYROLL_FILE,
};

const readStored = jsonColumn('file_formats', 'format', Type.Object(FORMAT_FIELDS));

export const FILE_FORMAT_VERSION: Fact<'file_formats'> = {
  table: 'file_formats',
  actions: ['file-format.put'],
  subject: { resource: 'employer_id', employer: 'employer_id' },
  changing: ['organization', 'read_at'],
};

type Key = { employer_id: string; kind: FileKindName; version: number };

function organizationPlace({ employer_id, kind, version }: Key): Place {
  return { table: 'file_formats', row: `${employer_id}/${kind}/${version}`, column: 'organization' };
}

export const ENCRYPTED_ORGANIZATION: EncryptedColumn = {
  table: 'file_formats',
  column: 'organization',
  also: [],
  placeOf: ({ employer_id, kind, version }) =>
    organizationPlace({
      employer_id: String(employer_id),
      kind: String(kind) as FileKindName,
      version: Number(version),
    }),
  rowsAtOnce: 100,
};

export type StoredFormat = { version: number; format: FileFormat; organization: Buffer | null };

/** Returns the latest format, or the latest that was set by `knownAt`; null if there is none. Its organization is encrypted. */
export async function readFormat(
  db: Db | Trx,
  employerId: string,
  kind: FileKindName,
  knownAt?: string,
): Promise<StoredFormat | null> {
  const latest = await db
    .selectFrom('file_formats')
    .select(['version', 'format', 'organization'])
    .where('employer_id', '=', employerId)
    .where('kind', '=', kind)
    .where(isRecordedBy(db, knownAt))
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (latest === undefined) return null;
  const format = readStored(latest.format, `${employerId}, ${kind}`) as FileFormat;
  return { ...latest, format };
}

/** Returns the organization of a format as JSON. */
export function organizationOf(
  encryptor: Encryptor,
  employer_id: string,
  kind: FileKindName,
  { version, organization }: StoredFormat,
): Buffer | null {
  return organization && encryptor.decrypt(organization, organizationPlace({ employer_id, kind, version }));
}

export type NewFormat = {
  kind: FileKindName;
  format: FileFormat;
  /** Undefined: the stored one stays. Null: there is none. */
  organization?: Organization | null | undefined;
};

/** Returns the format and the organization that a body sets. Throws SETTINGS_REFUSED. */
export function newFormat(kind: FileKindName, body: unknown): NewFormat {
  const { organization, ...rest } = (body ?? {}) as { organization?: unknown };
  const checked = checkFormat(rest, FILES[kind]);
  const wrong = organizationProblems(kind, organization);
  if (checked.ok && wrong.length === 0)
    return { kind, format: checked.value, organization: organization as Organization | null | undefined };
  throw refused('SETTINGS_REFUSED', [...(checked.ok ? [] : checked.problems), ...wrong]);
}

function organizationProblems(kind: FileKindName, organization: unknown): Problem[] {
  if (organization == null) return [];
  if (kind !== 'census') return [{ path: 'organization', rule: 'is only for a census' }];
  const problems = organizationChecker.problems(organization, PROBLEMS_MAX, 'hints');
  return problems.map((problem) => within('organization', problem));
}

/** Adds a version, unless the latest one is equal. Throws CONFLICT for another prefix of ids once a file was read. */
export async function putFormat(
  trx: Trx,
  encryptor: () => Encryptor,
  employer_id: string,
  { kind, format, organization }: NewFormat,
  acting: Acting,
): Promise<void> {
  await lockPayroll(trx);
  const latest = await readFormat(trx, employer_id, kind);
  const before = latest?.format ?? null;
  const kept = latest?.organization == null ? null : organizationOf(encryptor(), employer_id, kind, latest);
  const wanted =
    organization === undefined ? kept : organization && Buffer.from(JSON.stringify(organization));
  const isSameOrganization = wanted === null ? kept === null : kept?.equals(wanted) === true;
  if (isSameOrganization && isDeepStrictEqual(before, format)) return;
  if (before !== null && before.id_prefix !== format.id_prefix)
    await assertUnread(trx, employer_id, kind, before.id_prefix);
  const version = (latest?.version ?? 0) + 1;
  const key = { employer_id, kind, version };
  const row = {
    ...key,
    format: JSON.stringify(format),
    organization: wanted && encryptor().encrypt(wanted, organizationPlace(key)),
    read_at: null,
  };
  // The organization names a person, so the record has only whether it changed.
  const details = { kind, version, before, after: format, organization_changed: !isSameOrganization };
  await insertFacts(trx, FILE_FORMAT_VERSION, [row], acting, { details });
}

async function assertUnread(trx: Trx, employerId: string, kind: FileKindName, prefix: string | null) {
  const read = await trx
    .selectFrom('file_formats')
    .select('version')
    .where('employer_id', '=', employerId)
    .where('kind', '=', kind)
    .where('read_at', 'is not', null)
    .limit(1)
    .executeTakeFirst();
  if (read === undefined) return;
  const kept = prefix === null ? 'without a prefix' : `with the prefix ${prefix}`;
  throw conflict(
    `id_prefix cannot change, because a file was read ${kept}. With a new prefix, every employee would become a different one.`,
  );
}

/** Notes that a file was read through a version. */
export async function noteRead(trx: Trx, { employer_id, kind, version }: Key, now: string): Promise<void> {
  await trx
    .updateTable('file_formats')
    .set({ read_at: now })
    .where('employer_id', '=', employer_id)
    .where('kind', '=', kind)
    .where('version', '=', version)
    .where('read_at', 'is', null)
    .execute();
}

/** Erases the organizations in the file formats of an employer. */
export async function eraseOrganizations(trx: Trx, employerId: string): Promise<void> {
  await trx
    .updateTable('file_formats')
    .set({ organization: null })
    .where('employer_id', '=', employerId)
    .where('organization', 'is not', null)
    .execute();
}
