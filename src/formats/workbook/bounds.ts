/** What a workbook may cost. Each bound is far above a payroll's largest file. */
import { SAVE_AS, unreadable } from '../bytes.ts';

const MIB = 1024 * 1024;

export const WORKBOOK_BOUNDS = {
  /** Bytes of the file. */
  bytes: 64 * MIB,
  /** Bytes of its parts, counted while they are inflated. */
  inflated: 512 * MIB,
  /** Resident memory of the process that reads it. */
  memory: 512 * MIB,
  /** Time that the process works, without the time that its reader takes. */
  ms: 60_000,
  sheets: 50,
  columns: 200,
  /** Rows with data. */
  rows: 1_000_000,
};
export type WorkbookBounds = typeof WORKBOOK_BOUNDS;

/** The content type of a workbook. */
export const WORKBOOK_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

/** What to do about a workbook that cannot be read. */
export const SAVE_WORKBOOK = 'save it as .xlsx or CSV';

/** The first bytes of a ZIP archive, which a workbook is. */
export const ZIP = Buffer.from('PK\x03\x04', 'latin1');
/** The first bytes of the container of old and of encrypted workbooks. */
const COMPOUND_FILE = Buffer.from([0xd0, 0xcf, 0x11, 0xe0]);

/** Throws UNREADABLE for a workbook of the old format. */
export function refuseOldWorkbook(head: Buffer): void {
  if (head.indexOf(COMPOUND_FILE) !== 0) return;
  throw unreadable(
    '',
    `is a workbook with a password or in an old format (.xls): ${SAVE_WORKBOOK}, without a password`,
  );
}

/** Throws UNREADABLE for a workbook where only a CSV is read. */
export function refuseWorkbook(head: Buffer): void {
  refuseOldWorkbook(head);
  if (head.indexOf(ZIP) === 0) throw unreadable('', `is a workbook: ${SAVE_AS}`);
}

export function memoryRule({ memory }: Pick<WorkbookBounds, 'memory'>): string {
  return `needs more than ${memory / MIB} MiB of memory: save it as CSV`;
}
