import { Tokenizer } from '@streamparser/json';
import { givenFieldPath } from '../contract/field-path.ts';
import { parseJson } from '../contract/json.ts';
import { createOutline, NotAnObject } from './json-outline.ts';
import { ELEMENT_BYTES_MAX, employeePath, type Piece, TOO_LARGE, Unreadable } from './reading.ts';

/** Fields beside each other in the outermost object: a census has two, and each name is kept to see it twice. */
const FIELDS_MAX = 100;

/**
 * Cuts a census in JSON into its employees and its organization, whatever their order, as its bytes come. The
 * tokenizer finds where each begins and ends; each is then parsed whole by the contract's strict parser, so that
 * a field named twice is seen here as well.
 */
export async function* jsonPieces(content: AsyncIterable<Uint8Array>): AsyncGenerator<Piece[]> {
  const cutter = createCutter();
  for await (const slice of content) yield cutter.write(slice);
  yield cutter.end();
}

function createCutter(): { write(slice: Uint8Array): Piece[]; end(): Piece[] } {
  const window = createWindow();
  const tokenizer = new Tokenizer();
  const fields: string[] = [];
  let employees = 0;
  let pieces: Piece[] = [];
  let valueAt: number | null = null;
  let lastToken = 0;

  const outline = createOutline({
    named(field) {
      if (fields.includes(field)) problem(givenFieldPath('', field), 'is given twice');
      fields.push(field);
      if (fields.length > FIELDS_MAX) throw new Unreadable('', `must have at most ${FIELDS_MAX} fields`);
    },
    begins(offset) {
      valueAt = offset;
    },
    ends(offset) {
      const text = window.text(valueAt ?? offset, offset);
      valueAt = null;
      if (outline.inList) cutEmployee(text);
      else cutField(fields.at(-1) as string, text);
    },
  });
  tokenizer.onToken = (token) => {
    lastToken = token.offset;
    outline.take(token);
  };

  const problem = (path: string, rule: string): void => {
    pieces.push({ kind: 'problem', problem: { path, rule } });
  };
  const cutEmployee = (text: string): void => {
    const parsed = parseJson(text);
    employees += 1;
    pieces.push(
      parsed.ok
        ? { kind: 'employee', value: parsed.value }
        : { kind: 'unreadable-employee', rule: parsed.reason },
    );
  };
  const cutField = (field: string, text: string): void => {
    const parsed = parseJson(text);
    const path = givenFieldPath('', field);
    if (!parsed.ok) problem(path, parsed.reason);
    else if (field === 'organization') pieces.push({ kind: 'organization', value: parsed.value });
    else problem(path, field === 'employees' ? 'must be an array' : 'is not a field of the interface');
  };
  const here = (): string => (outline.inList ? employeePath(employees) : '');

  /** Runs `work` and answers what it cut. The tokenizer's own errors quote what they stumbled over. */
  const read = (work: () => void): Piece[] => {
    pieces = [];
    try {
      work();
    } catch (error) {
      if (error instanceof Unreadable) throw error;
      if (error instanceof NotAnObject) throw new Unreadable('', 'must be an object');
      throw new Unreadable(here(), `is not valid JSON near byte ${lastToken}`);
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
        if (pending > ELEMENT_BYTES_MAX) throw new Unreadable(here(), TOO_LARGE);
      }),
    end: () =>
      read(() => {
        if (!outline.isEnded) throw new Unreadable(here(), 'ends in the middle');
        if (!tokenizer.isEnded) tokenizer.end();
      }),
  };
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
