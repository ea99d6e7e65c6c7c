import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { OutgoingEvent } from './events.ts';

/** What becomes of an event in the end (its state in the inbox). */
export type Becomes = 'applied' | 'ignored' | 'quarantined';

/** One event from a file: fixtures/README.md describes the form. */
export type Fixture = OutgoingEvent & {
  file: string;
  /** What it shows, in a sentence. */
  about?: string;
  becomes?: Becomes;
};

/**
 * The events of one file, or of a folder's `.json` files in order of their names. A folder that holds a folder
 * `events` stands for that one, so that `fixtures/` works as it is.
 *
 * @throws when a path can't be read, a folder has no events, or a file is not an event; the message names the path
 */
export function loadFixtures(path: string): Fixture[] {
  if (!statSync(path).isDirectory()) return [readFixture(path)];
  const names = readdirSync(path);
  if (names.includes('events')) return loadFixtures(join(path, 'events'));
  const files = names.filter((name) => name.endsWith('.json')).sort();
  if (files.length === 0) throw new Error(`${path} has no .json files: give a file or a folder of events`);
  return files.map((name) => readFixture(join(path, name)));
}

function readFixture(path: string): Fixture {
  const parsed = parse(path);
  if (!isEvent(parsed)) {
    throw new Error(`${path} is not an event: it needs "id" (text) and "body" (what is to be sent)`);
  }
  return { ...parsed, file: basename(path) };
}

function parse(path: string): unknown {
  const text = readFileSync(path, 'utf8');
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${path} is not valid JSON`);
  }
}

function isEvent(value: unknown): value is OutgoingEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { id, body } = value as Partial<OutgoingEvent>;
  return typeof id === 'string' && id !== '' && body !== undefined;
}
