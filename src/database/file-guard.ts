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

/** The header of the log, and the frames that SQLite counts in it. */
type Log = { header: Buffer; frames: number };

export class FileGuard {
  readonly #path: string;
  readonly #counted: BetterSqlite3.Statement;
  readonly #pages: BetterSqlite3.Statement;
  readonly #pageBytes: number;
  #file: number | null = null;
  #withoutHeader = 0;
  #seen: Log = { header: Buffer.alloc(0), frames: 0 };
  #before: Log = { header: Buffer.alloc(0), frames: 0 };

  /** `handle` is open on the file and has no statement under way when a method is called. */
  constructor(path: string, handle: BetterSqlite3.Database) {
    this.#path = realpathSync(path);
    // Does no work: returns whether it was busy, the number of committed frames, and how many of them are in the file.
    this.#counted = handle.prepare('PRAGMA wal_checkpoint(NOOP)').raw();
    this.#pages = handle.prepare('PRAGMA page_count').pluck();
    this.#pageBytes = handle.pragma('page_size', { simple: true }) as number;
  }

  /** Throws DATABASE_DAMAGED unless the log has every committed frame. The caller holds the write lock. */
  assertLog(): void {
    const header = this.#read(0, HEADER_BYTES);
    const { frames } = this.#count();
    this.#before = { header, frames };
    if (frames > 0 && (!isHeader(header) || this.#size() < this.#end(frames))) {
      this.#damaged('shorter than its contents');
    }
  }

  /**
   * Returns whether the frames that a checkpoint would copy into the file can be read; false may also mean that the log
   * is just starting over. Throws DATABASE_DAMAGED when one of them is missing. Needs no lock.
   */
  canCopy(): boolean {
    const header = this.#read(0, HEADER_BYTES);
    const { frames, copied } = this.#count();
    if (!isHeader(header)) {
      this.#withoutHeader = frames > copied ? this.#withoutHeader + 1 : 0;
      // A log starts over within microseconds.
      if (this.#withoutHeader === WITHOUT_HEADER_MOST) this.#damaged('without its header');
      return frames === copied;
    }
    this.#withoutHeader = 0;
    // Whatever cuts the log takes its last frame, so those before the last one that was seen need no second look.
    const seen = this.#seen.header.equals(header) ? this.#seen.frames : 0;
    this.#seen = { header, frames };
    for (let frame = Math.max(copied + 1, seen); frame <= frames; frame += 1) {
      if (this.#isFrame(frame, header)) continue;
      if (this.#isStill(header)) this.#damaged('missing a committed page');
      return false;
    }
    return true;
  }

  /** Throws DATABASE_DAMAGED when the log that was checked by `assertLog` lost a frame before or during the commit. */
  assertCommitted(): void {
    const { header, frames } = this.#before;
    const now = this.#read(0, HEADER_BYTES);
    if (now.length < HEADER_BYTES) return;
    // Without frames its first bytes may be anything that a crash left there: the first frame overwrites them.
    if (!isHeader(now) && this.#count().frames > 0 && this.#isStill(now)) this.#damaged('without its header');
    // The log started over, which SQLite does only with a log whose pages are all in the database file.
    if (frames === 0 || !now.equals(header)) return;
    if (!this.#isFrame(frames, header) && this.#isStill(header)) this.#damaged('missing a committed page');
  }

  /**
   * Throws DATABASE_DAMAGED when pages are missing at the end of the database file: a page is in the file or in one of
   * the log's frames that are not copied yet. Comparing with an earlier size instead would mistake a vacuum for damage.
   */
  assertFile(): void {
    // A checkpoint between two of its reads would look like damage, and takes longer than all of them.
    if (Array.from({ length: READS_MOST }).every(() => this.#isFileShort())) {
      throw databaseDamaged(this.#path, 'shorter than its contents');
    }
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #isFileShort(): boolean {
    const header = this.#read(0, HEADER_BYTES);
    const before = this.#count();
    const { size } = statSync(this.#path);
    // Read after the size: pages added since are in frames added since, as long as the log has not started over.
    const pages = this.#pages.get() as number;
    const { frames } = this.#count();
    if (!isHeader(header) || frames < before.frames || !this.#isStill(header)) return false;
    return size < (pages - (frames - before.copied)) * this.#pageBytes;
  }

  #count(): { frames: number; copied: number } {
    const [, frames, copied] = this.#counted.get() as [number, number, number];
    return { frames, copied };
  }

  /** Whether the log holds this frame, counted from 1, whole. */
  #isFrame(frame: number, header: Buffer): boolean {
    const salts = this.#read(this.#end(frame - 1) + SALTS.atFrame, SALTS.bytes);
    return (
      salts.equals(header.subarray(SALTS.at, SALTS.at + SALTS.bytes)) && this.#size() >= this.#end(frame)
    );
  }

  #isStill(header: Buffer): boolean {
    return this.#read(0, HEADER_BYTES).equals(header);
  }

  /** Returns the offset after so many frames. */
  #end(frames: number): number {
    return HEADER_BYTES + frames * (FRAME_HEADER_BYTES + this.#pageBytes);
  }

  #read(at: number, bytes: number): Buffer {
    const buffer = Buffer.alloc(bytes);
    return buffer.subarray(0, readSync(this.#log, buffer, 0, bytes, at));
  }

  #size(): number {
    return fstatSync(this.#log).size;
  }

  /** SQLite takes no lock on the log, so closing this descriptor releases none. */
  get #log(): number {
    this.#file ??= openSync(`${this.#path}${SUFFIX.log}`, 'r');
    return this.#file;
  }

  #damaged(how: string): never {
    throw databaseDamaged(`${this.#path}${SUFFIX.log}`, how);
  }
}

function isHeader(bytes: Buffer): boolean {
  return bytes.length === HEADER_BYTES && MAGIC.has(bytes.readUInt32BE(0));
}
