/**
 * How a census is stored in chunks. The upload body is chunk 0 (the organization), the employees of chunks 1, 2, … and
 * `END`. A chunk of employees starts with an extra line, a JSON array with payroll's own data of each.
 */
import type { Organization } from '../contract/census.ts';
import type { Employee } from '../contract/employee.ts';
import type { EncryptedColumn } from '../security/encrypted-columns.ts';
import type { Place } from '../security/encryption.ts';
import type { CensusRow } from './check.ts';

/** Body bytes per chunk: encrypted, stored and sent in a few milliseconds. A census of 50 MB has 200. */
export const CHUNK_BYTES = 256 * 1024;
export const END = Buffer.from(']}');

export function chunkPlace(censusId: string, chunk: number): Place {
  return { table: 'census_chunks', row: `${censusId}/${chunk}`, column: 'ciphertext' };
}

/** For key rotation: about 5 MiB at once. */
export const ENCRYPTED_CHUNKS: EncryptedColumn = {
  table: 'census_chunks',
  column: 'ciphertext',
  key: ['census_id', 'chunk'],
  also: [],
  placeOf: ({ census_id, chunk }) => chunkPlace(String(census_id), Number(chunk)),
  rowsAtOnce: 20,
};

export function packOrganization(organization: Organization): Buffer {
  return Buffer.from(`{"organization":${JSON.stringify(organization)},"employees":[`);
}

/** An employee's pay group, or the pay group and the effective date. */
type Own = string | null | [payGroup: string | null, effectiveOn: string];

export function createPacker() {
  let texts: string[] = [];
  let own: Own[] = [];
  let bytes = 0;
  let isFirst = true;
  return {
    /** Returns whether the chunk is full. */
    add({ employee, payGroup, effectiveOn }: CensusRow): boolean {
      const text = JSON.stringify(employee);
      texts.push(text);
      own.push(effectiveOn === null ? payGroup : [payGroup, effectiveOn]);
      bytes += text.length;
      return bytes >= CHUNK_BYTES;
    },
    /** Returns the chunk and its bytes of the body, and starts the next one. Null if it has no row. */
    take(): { plain: Buffer; bodyBytes: number } | null {
      if (texts.length === 0) return null;
      const line = Buffer.from(`${JSON.stringify(own)}\n`);
      const part = Buffer.from((isFirst ? '' : ',') + texts.join(','));
      isFirst = false;
      texts = [];
      own = [];
      bytes = 0;
      return { plain: Buffer.concat([line, part]), bodyBytes: part.length };
    },
  };
}

export function bodyPart(chunk: number, plain: Buffer): Buffer {
  return chunk === 0 ? plain : plain.subarray(plain.indexOf('\n') + 1);
}

/** Returns the rows of a decrypted chunk other than 0. */
export function rowsOf(plain: Buffer): CensusRow[] {
  const end = plain.indexOf('\n');
  // They were checked before they were stored, and decrypting them proves that they are the same.
  const own: Own[] = JSON.parse(plain.toString('utf8', 0, end));
  const employees: Employee[] = JSON.parse(`[${plain.toString('utf8', end + 1).replace(/^,/, '')}]`);
  return employees.map((employee, index) => {
    const one = own[index] ?? null;
    const [payGroup, effectiveOn] = Array.isArray(one) ? one : [one, null];
    return { employee, payGroup, effectiveOn };
  });
}
