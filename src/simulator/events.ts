import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DEDUCTION_UPDATED, type Envelope, type EventType } from '../contract/events.ts';
import { seededId } from './random.ts';

/** An event as it goes out: `id` is the id that its deliveries are signed with, `body` becomes their JSON. */
export type OutgoingEvent = { id: string; body: unknown };

/** An event made by the simulator, with an envelope of the interface's form. */
export type MadeEvent = { id: string; body: Envelope };

export type MakeEvent = (type: EventType, data: Record<string, unknown>) => MadeEvent;

/**
 * Makes events with ids of their own and `created_at` strictly increasing, so that order is never a question of
 * ties unless a caller writes one. The time of the start is part of every id: a simulator that is started again
 * with the same seed sends new events, not duplicates of its old ones.
 */
export function eventMaker(seed: number, now: () => Date): MakeEvent {
  const startedAt = now().getTime();
  let made = 0;
  let lastMs = 0;
  return (type, data) => {
    made += 1;
    const body: Envelope = { id: seededId('evt', seed, startedAt, made), event_type: type, data };
    // The interface shows created_at on the deduction event only.
    if (type === DEDUCTION_UPDATED) {
      lastMs = Math.max(now().getTime(), lastMs + 1);
      body.created_at = new Date(lastMs).toISOString();
    }
    return { id: seededId('msg', seed, startedAt, made), body };
  };
}

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
