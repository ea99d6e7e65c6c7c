import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import Type from 'typebox';
import { compile } from '../contract/check.ts';
import { DEDUCTION_UPDATED, type Envelope, type EventType } from '../contract/events.ts';
import { seededId } from './random.ts';

/** An outgoing event: `id` is the signed delivery id, `body` is sent as JSON. */
export type OutgoingEvent = { id: string; body: unknown };

export type MadeEvent = { id: string; body: Envelope };

export type MakeEvent = (type: EventType, data: Record<string, unknown>) => MadeEvent;

/** Creates events with unique ids, also after a restart, and strictly increasing `created_at`. */
export function eventMaker(seed: number, now: () => Date): MakeEvent {
  const startedAt = now().getTime();
  let made = 0;
  let lastMs = 0;
  return (type, data) => {
    made += 1;
    const body: Envelope = { id: seededId('evt', seed, startedAt, made), event_type: type, data };
    // The contract has created_at on the deduction event only.
    if (type === DEDUCTION_UPDATED) {
      lastMs = Math.max(now().getTime(), lastMs + 1);
      body.created_at = new Date(lastMs).toISOString();
    }
    return { id: seededId('msg', seed, startedAt, made), body };
  };
}

export type Becomes = 'applied' | 'ignored' | 'quarantined';

/** One event from a file, in the format of fixtures/README.md. */
export type Fixture = OutgoingEvent & {
  file: string;
  about?: string;
  /** Its expected final state in the inbox. */
  becomes?: Becomes;
};

/**
 * Reads the events of one file, or of a folder's `.json` files in name order; if it contains a folder `events`, as
 * `fixtures/` does, of that one. Throws, naming the path, if one cannot be read or is not an event.
 */
export function loadFixtures(path: string): Fixture[] {
  if (!statSync(path).isDirectory()) return [readFixture(path)];
  const names = readdirSync(path);
  if (names.includes('events')) return loadFixtures(join(path, 'events'));
  const files = names.filter((name) => name.endsWith('.json')).sort();
  if (files.length === 0) throw new Error(`${path} has no .json files: give a file or a folder of events`);
  return files.map((name) => readFixture(join(path, name)));
}

const outgoing = compile(Type.Object({ id: Type.String({ minLength: 1 }), body: Type.Unknown() }));

function readFixture(path: string): Fixture {
  const text = readFileSync(path, 'utf8');
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Error(`${path} is not valid JSON`);
  }
  if (outgoing.accepts(parsed)) return { ...parsed, file: basename(path) };
  throw new Error(`${path} is not an event: it needs "id" (text) and "body" (what is to be sent)`);
}
