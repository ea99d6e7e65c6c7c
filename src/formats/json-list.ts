import { Tokenizer } from '@streamparser/json';
import type { Problem } from '../contract/check.ts';
import { givenFieldPath } from '../contract/field-path.ts';
import { type ParsedJson, parseJson } from '../contract/json.ts';
import { createOutline, type Shape, WrongShape } from './json-outline.ts';
import { ELEMENT_BYTES_MAX, TOO_LARGE, Unreadable, unreadable } from './unreadable.ts';

/** Fields beside each other in the outermost object: files have few, and each name is kept to see it twice. */
const FIELDS_MAX = 100;

/** A list has a path for each element, the first one being 0. */
export type List = Shape & { readonly pathOf: (index: number) => string };

export type JsonPiece =
  | { readonly kind: 'element'; readonly parsed: ParsedJson }
  /** Any other field of the outermost object. */
  | { readonly kind: 'field'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'problem'; readonly problem: Problem };

/**
 * Cuts a list in JSON into its elements and the fields beside it, whatever their order, as its bytes come. The
 * tokenizer finds where each begins and ends; each is then parsed whole by the contract's strict parser, so that
 * a field named twice is seen here as well. Throws `Unreadable`, and what the content throws.
 */
export async function* jsonPieces(
  content: AsyncIterable<Uint8Array>,
  list: List,
): AsyncGenerator<JsonPiece[]> {
  const cutter = createCutter(list);
  for await (const slice of content) yield cutter.write(slice);
  yield cutter.end();
}

function createCutter(list: List): { write(slice: Uint8Array): JsonPiece[]; end(): JsonPiece[] } {
  const window = createWindow();
  const tokenizer = new Tokenizer();
  const fields: string[] = [];
  let elements = 0;
  let pieces: JsonPiece[] = [];
  let valueAt: number | null = null;
  let lastToken = 0;

  const outline = createOutline(list, {
    named(field) {
      if (fields.includes(field)) problem(givenFieldPath('', field), 'is given twice');
      fields.push(field);
      if (fields.length > FIELDS_MAX) throw unreadable('', `must have at most ${FIELDS_MAX} fields`);
    },
    begins(offset) {
      valueAt = offset;
    },
    ends(offset) {
      const parsed = parseJson(window.text(valueAt ?? offset, offset));
      valueAt = null;
      if (outline.inList) {
        elements += 1;
        pieces.push({ kind: 'element', parsed });
      } else cutField(fields.at(-1) as string, parsed);
    },
  });
  tokenizer.onToken = (token) => {
    lastToken = token.offset;
    outline.take(token);
  };

  const problem = (path: string, rule: string): void => {
    pieces.push({ kind: 'problem', problem: { path, rule } });
  };
  const cutField = (name: string, parsed: ParsedJson): void => {
    if (!parsed.ok) problem(givenFieldPath('', name), parsed.reason);
    else if (name === list.list) problem(name, 'must be an array');
    else pieces.push({ kind: 'field', name, value: parsed.value });
  };
  const here = (): string => (outline.inList ? list.pathOf(elements) : '');

  /** Runs `work` and answers what it cut. The tokenizer's own errors quote what they stumbled over. */
  const read = (work: () => void): JsonPiece[] => {
    pieces = [];
    try {
      work();
    } catch (error) {
      if (error instanceof Unreadable) throw error;
      if (error instanceof WrongShape) throw unreadable('', shapeRule(list));
      throw unreadable(here(), `is not valid JSON near byte ${lastToken}`);
    }
    return pieces;
  };

  return {
    write: (slice) =>
      read(() => {
        window.append(slice);
        tokenizer.write(slice);
        // Without a value under way: a name or white space since the newest token.
        const pending = window.keepFrom(valueAt ?? lastToken);
        if (pending > ELEMENT_BYTES_MAX) throw unreadable(here(), TOO_LARGE);
      }),
    end: () =>
      read(() => {
        if (!outline.isEnded) throw unreadable(here(), 'ends in the middle');
        if (!tokenizer.isEnded) tokenizer.end();
      }),
  };
}

function shapeRule({ list, orBare }: Shape): string {
  return orBare ? `must be an array, or an object with the array ${list}` : 'must be an object';
}

/** The newest bytes of a stream, addressed by their place in it. */
function createWindow() {
  let bytes: Buffer = Buffer.alloc(0);
  let from = 0;
  return {
    append(slice: Uint8Array): void {
      bytes = Buffer.concat([bytes, slice]);
    },
    text(begin: number, end: number): string {
      return bytes.toString('utf8', begin - from, end - from);
    },
    /** Forgets what is before; answers how many bytes are left. */
    keepFrom(begin: number): number {
      bytes = bytes.subarray(begin - from);
      from = begin;
      return bytes.length;
    },
  };
}
