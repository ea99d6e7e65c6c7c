/**
 * The high-water mark: a file next to a SQLite database with its newest position and event. A database older
 * than its mark has lost data: an older file replaced it, or its log is gone.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import Type, { type Static } from 'typebox';
import { compile } from '../contract/check.ts';
import { nullable } from '../contract/fields.ts';
import { engineOf } from '../database/engine.ts';
import { SUFFIX } from '../database/files.ts';
import { sqliteFile } from '../database/open.ts';
import type { Db } from '../database/tables.ts';
import { codeOf } from '../errors.ts';
import type { Log } from '../telemetry/log.ts';
import { type NewestEvent, readNewest } from './newest.ts';

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Mark = Type.Object({
  position: count,
  seq: count,
  received_at: nullable(Type.String({ format: 'instant' })),
});
export type Mark = Static<typeof Mark>;

const mark = compile(Mark);

/** How often it is saved, apart from commits. Newer writes of other processes can be lost undetected. */
const SAVE_EVERY_MS = 1_000;
/** Longer than any mark, so that writing one over another leaves nothing of the previous one. */
const BYTES = 128;

function pathOf(databaseUrl: string): string {
  return `${sqliteFile(databaseUrl)}${SUFFIX.highWaterMark}`;
}

/** Returns the saved mark, or null if it is missing or unreadable. */
export function readMark(databaseUrl: string): Mark | null {
  try {
    const saved: unknown = JSON.parse(readFileSync(pathOf(databaseUrl), 'utf8'));
    return mark.accepts(saved) ? saved : null;
  } catch {
    return null;
  }
}

/**
 * Writes a mark over the previous one, in one write within one disk sector. It is not synced: what it counts is committed
 * already, so a power loss can only leave an older mark. Throws what the file system throws.
 */
export function writeMark(databaseUrl: string, { position, seq, received_at }: Mark): void {
  const path = pathOf(databaseUrl);
  const text = `${JSON.stringify({ position, seq, received_at }).padEnd(BYTES - 1)}\n`;
  try {
    // Most file systems flush a file that is renamed over another, and every commit would wait for that.
    writeFileSync(path, text, { flag: 'r+' });
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    writeFileSync(`${path}.new`, text, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  }
}

/** Writes a mark and returns whether that worked. A full disk must not stop anything. */
export function saveMark(databaseUrl: string, mark: Mark, log: Log): boolean {
  try {
    writeMark(databaseUrl, mark);
    return true;
  } catch (error) {
    log.debug({ code: codeOf(error) }, 'the high-water mark could not be saved');
    return false;
  }
}

/** Removes the mark. The next `serve` writes a new one. */
export function removeMark(databaseUrl: string): void {
  rmSync(pathOf(databaseUrl), { force: true });
}

/** Saves the mark with each commit of events, so that a single lost event is detected, and each second. */
export function keepHighWaterMark(db: Db, databaseUrl: string, log: Log) {
  if (engineOf(db) === 'postgres') return { stored: (): void => {}, stop: async (): Promise<void> => {} };
  let saved: Mark = readMark(databaseUrl) ?? { position: 0, seq: 0, received_at: null };
  let updating: Promise<void> | null = null;
  const save = (mark: Mark): void => {
    const isNewer = mark.position !== saved.position || mark.seq !== saved.seq;
    if (isNewer && saveMark(databaseUrl, mark, log)) saved = mark;
  };
  const update = async (): Promise<void> => {
    const newest = await readNewest(db);
    // Events may have been stored since it was read, and a damaged file may return older rows.
    const { seq, received_at } = newest.seq > saved.seq ? newest : saved;
    save({ position: Math.max(newest.position, saved.position), seq, received_at });
  };
  const updateOnce = (): Promise<void> => {
    // Other readers of the database report why it can't be read.
    updating ??= update()
      .catch(() => {})
      .finally(() => {
        updating = null;
      });
    return updating;
  };
  const timer = setInterval(updateOnce, SAVE_EVERY_MS);
  return {
    /** Saves that events up to this one are committed. */
    stored: (newest: NewestEvent): void => save({ ...saved, ...newest }),
    /** Saves the mark a last time. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await updating;
      await updateOnce();
    },
  };
}
