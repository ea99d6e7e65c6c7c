/**
 * Detects that something other than SQLite truncated or overwrote a database file or its write-ahead log while they were
 * open. SQLite trusts its own index of the log: it appends after the gap, reports the commit as done, and later copies
 * zeros from the gap into the database file.
 */
import { closeSync, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import { databaseDamaged } from './errors.ts';
import { SUFFIX } from './files.ts';

// https://sqlite.org/fileformat2.html#walformat
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = new Set([0x377f0682, 0x377f0683]);
/** Two random numbers that change each time the log starts over. Every frame repeats them. */
const SALTS = { at: 16, atFrame: 8, bytes: 8 };

/** Checks in a row after which a log that has pages to copy and no header is damaged. */
const WITHOUT_HEADER_MOST = 4;
/** How many reads of the file's size must find it short. */
const READS_MOST = 5;
/** Frames read at once: a read of each frame costs more than copying its page. */
const FRAMES_AT_ONCE = 16;

/** The header of the log, and the frames that SQLite counts in it. */
type LogState = { header: Buffer; frames: number };

export type FileGuard = ReturnType<typeof createFileGuard>;

/** `handle` is open on the file and has no statement under way when a method is called. */
export function createFileGuard(named: string, handle: BetterSqlite3.Database) {
  const path = realpathSync(named);
  const logPath = `${path}${SUFFIX.log}`;
  // Does no work: returns whether it was busy, the number of committed frames, and how many of them are in the file.
  const counted = handle.prepare('PRAGMA wal_checkpoint(NOOP)').raw();
  const pageCount = handle.prepare('PRAGMA page_count').pluck();
  const pageBytes = handle.pragma('page_size', { simple: true }) as number;
  const { readHeader, isStill, size, endOf, hasFrames, close } = openLog(logPath, pageBytes);
  let withoutHeader = 0;
  /** As `canCopy` saw it. */
  let seen: LogState = { header: Buffer.alloc(0), frames: 0 };
  /** As `assertLog` saw it. */
  let before: LogState = { header: Buffer.alloc(0), frames: 0 };

  const count = (): { frames: number; copied: number } => {
    const [, frames, copied] = counted.get() as [number, number, number];
    return { frames, copied };
  };
  const isFileShort = (): boolean => {
    const header = readHeader();
    const earlier = count();
    const { size: bytes } = statSync(path);
    // Read after the size: pages added since are in frames added since, as long as the log has not started over.
    const pages = pageCount.get() as number;
    const { frames } = count();
    if (!isHeader(header) || frames < earlier.frames || !isStill(header)) return false;
    return bytes < (pages - (frames - earlier.copied)) * pageBytes;
  };

  return {
    /** Throws DATABASE_DAMAGED unless the log has every committed frame. The caller holds the write lock. */
    assertLog(): void {
      const header = readHeader();
      const { frames } = count();
      before = { header, frames };
      if (frames > 0 && (!isHeader(header) || size() < endOf(frames))) {
        throw databaseDamaged(logPath, 'shorter than its contents');
      }
    },

    /**
     * Returns whether the frames that a checkpoint would copy into the file can be read; false may also mean that the
     * log is just starting over. Throws DATABASE_DAMAGED when one of them is missing. Needs no lock.
     */
    canCopy(): boolean {
      const header = readHeader();
      const { frames, copied } = count();
      if (!isHeader(header)) {
        withoutHeader = frames > copied ? withoutHeader + 1 : 0;
        // A log starts over within microseconds.
        if (withoutHeader === WITHOUT_HEADER_MOST) throw databaseDamaged(logPath, 'without its header');
        return frames === copied;
      }
      withoutHeader = 0;
      // Whatever cuts the log takes its last frame, so those before the last one that was seen need no second look.
      const checked = seen.header.equals(header) ? seen.frames : 0;
      seen = { header, frames };
      for (let frame = Math.max(copied + 1, checked); frame <= frames; frame += FRAMES_AT_ONCE) {
        if (hasFrames(frame, Math.min(frame + FRAMES_AT_ONCE - 1, frames), header)) continue;
        if (isStill(header)) throw databaseDamaged(logPath, 'missing a committed page');
        return false;
      }
      return true;
    },

    /** Returns whether every committed frame is in the file. */
    isCopied(): boolean {
      const { frames, copied } = count();
      return frames === copied;
    },

    /** Throws DATABASE_DAMAGED when the log that `assertLog` checked lost a frame before or during the commit. */
    assertCommitted(): void {
      const now = readHeader();
      if (now.length < HEADER_BYTES) return;
      // Without frames its first bytes may be anything that a crash left there: the first frame overwrites them.
      if (!isHeader(now) && count().frames > 0 && isStill(now)) {
        throw databaseDamaged(logPath, 'without its header');
      }
      const { header, frames } = before;
      // The log started over, which SQLite does only with a log whose pages are all in the database file.
      if (frames === 0 || !now.equals(header)) return;
      if (!hasFrames(frames, frames, header) && isStill(header)) {
        throw databaseDamaged(logPath, 'missing a committed page');
      }
    },

    /**
     * Throws DATABASE_DAMAGED when pages are missing at the end of the database file: a page is in the file or in one of
     * the log's frames that are not copied yet. Comparing with an earlier size would mistake a vacuum for damage.
     */
    assertFile(): void {
      // A checkpoint between two of its reads would look like damage, and takes longer than all of them.
      if (Array.from({ length: READS_MOST }).every(isFileShort)) {
        throw databaseDamaged(path, 'shorter than its contents');
      }
    },

    close,
  };
}

/** Reads the write-ahead log. It is opened at the first read. */
function openLog(path: string, pageBytes: number) {
  let file: number | null = null;

  /** SQLite takes no lock on the log, so closing this descriptor releases none. */
  const logFile = (): number => {
    file ??= openSync(path, 'r');
    return file;
  };
  /** Returns fewer bytes where the log ends. */
  const read = (at: number, bytes: number): Buffer => {
    const buffer = Buffer.alloc(bytes);
    return buffer.subarray(0, readSync(logFile(), buffer, 0, bytes, at));
  };
  const readHeader = (): Buffer => read(0, HEADER_BYTES);
  const isStill = (header: Buffer): boolean => readHeader().equals(header);
  const size = (): number => fstatSync(logFile()).size;
  const frameBytes = FRAME_HEADER_BYTES + pageBytes;
  /** Read into repeatedly. */
  const chunk = Buffer.alloc(FRAMES_AT_ONCE * frameBytes);
  const endOf = (frames: number): number => HEADER_BYTES + frames * frameBytes;
  /** Returns whether the log holds these frames, counted from 1, whole and since it last started over. */
  const hasFrames = (first: number, last: number, header: Buffer): boolean => {
    const bytes = (last - first + 1) * frameBytes;
    if (readSync(logFile(), chunk, 0, bytes, endOf(first - 1)) < bytes) return false;
    for (let at = SALTS.atFrame; at < bytes; at += frameBytes) {
      if (chunk.compare(header, SALTS.at, SALTS.at + SALTS.bytes, at, at + SALTS.bytes) !== 0) return false;
    }
    return true;
  };
  const close = (): void => {
    if (file !== null) closeSync(file);
    file = null;
  };
  return { readHeader, isStill, size, endOf, hasFrames, close };
}

function isHeader(bytes: Buffer): boolean {
  return bytes.length === HEADER_BYTES && MAGIC.has(bytes.readUInt32BE(0));
}
