import { Tokenizer, TokenType } from '@streamparser/json';
import { givenFieldPath } from '../contract/check.ts';
import { type ParsedJson, parseJson } from '../contract/json.ts';
import { isAppError, type Problem } from '../errors.ts';
import { ELEMENT_BYTES_MAX, isBlank, TOO_LARGE, unreadable, validUtf8 } from './bytes.ts';

/** The most fields in the outermost object. Names are kept to detect duplicates. */
const FIELDS_MAX = 100;

type ListShape = {
  readonly list: string;
  /** Whether the text may also be the array itself. */
  readonly orBare: boolean;
  readonly pathOf: (index: number) => string;
};

export type JsonPiece =
  | { readonly kind: 'element'; readonly parsed: ParsedJson }
  /** Another field of the outermost object. */
  | { readonly kind: 'field'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'problem'; readonly problem: Problem };

/**
 * Splits a JSON list into its elements and the fields around it, in any order. The tokenizer finds where each starts and
 * ends; the contract's strict parser then parses it. Throws UNREADABLE, and what the content throws.
 */
export async function* jsonPieces(content: AsyncIterable<Uint8Array>, list: ListShape) {
  const cutter = createCutter(list);
  for await (const slice of content) yield cutter.write(slice);
  yield cutter.end();
}

/** The part of the text that is expected next. */
type State =
  | ('root' | 'name or end' | 'name' | 'colon' | 'value')
  | ('element or end' | 'element' | 'inside' | 'after value' | 'after list' | 'ended');

type Token = { token: TokenType; value: unknown; offset: number };

function createCutter(list: ListShape) {
  const tokenizer = new Tokenizer();
  const fields: string[] = [];
  let elements = 0;
  let pieces: JsonPiece[] = [];
  let state: State = 'root';
  /** Whether an element of the list is next or is being read. */
  let inList = false;
  let isBare = false;
  let depth = 0;
  let valueAt: number | null = null;
  let lastToken = 0;
  /** The newest bytes of the stream, and the position of the first of them. */
  let bytes: Buffer = Buffer.alloc(0);
  let bytesFrom = 0;

  const problem = (path: string, rule: string): void => {
    pieces.push({ kind: 'problem', problem: { path, rule } });
  };
  const expect = (good: boolean): void => {
    if (!good) throw new Error('invalid JSON');
  };
  const close = (): void => {
    state = inList && !isBare ? 'after list' : 'ended';
    inList = false;
  };
  const name = ({ token, value }: Token): void => {
    expect(token === TokenType.STRING);
    const field = value as string;
    if (fields.includes(field)) problem(givenFieldPath('', field), 'is given twice');
    fields.push(field);
    if (fields.length > FIELDS_MAX) throw unreadable('', `must have at most ${FIELDS_MAX} fields`);
    state = 'colon';
  };
  const begin = ({ token, offset }: Token): void => {
    expect(token !== TokenType.COMMA && token !== TokenType.COLON && !isClosing(token));
    valueAt = offset;
    depth = isOpening(token) ? 1 : 0;
    state = depth === 0 ? 'after value' : 'inside';
  };
  /** `offset`: where the token after the value starts. */
  const end = (offset: number): void => {
    const parsed = parseJson(bytes.toString('utf8', (valueAt ?? offset) - bytesFrom, offset - bytesFrom));
    valueAt = null;
    const field = fields.at(-1) as string;
    if (inList) {
      elements += 1;
      pieces.push({ kind: 'element', parsed });
    } else if (!parsed.ok) problem(givenFieldPath('', field), parsed.reason);
    else if (field === list.list) problem(field, 'must be an array');
    else pieces.push({ kind: 'field', name: field, value: parsed.value });
  };
  const steps: Record<State, (token: Token) => void> = {
    root({ token }) {
      isBare = list.orBare && token === TokenType.LEFT_BRACKET;
      if (!isBare && token !== TokenType.LEFT_BRACE) {
        const orBare = `must be an array, or an object with the array ${list.list}`;
        throw unreadable('', list.orBare ? orBare : 'must be an object');
      }
      inList = isBare;
      state = isBare ? 'element or end' : 'name or end';
    },
    'name or end': (token) => (token.token === TokenType.RIGHT_BRACE ? close() : name(token)),
    name,
    colon({ token }) {
      expect(token === TokenType.COLON);
      state = 'value';
    },
    value(token) {
      inList = fields.at(-1) === list.list && token.token === TokenType.LEFT_BRACKET;
      if (inList) state = 'element or end';
      else begin(token);
    },
    'element or end': (token) => (token.token === TokenType.RIGHT_BRACKET ? close() : begin(token)),
    element: begin,
    inside({ token }) {
      if (isOpening(token)) depth += 1;
      if (isClosing(token)) depth -= 1;
      if (depth === 0) state = 'after value';
    },
    'after value'({ token, offset }) {
      const closing = inList ? TokenType.RIGHT_BRACKET : TokenType.RIGHT_BRACE;
      expect(token === TokenType.COMMA || token === closing);
      end(offset);
      if (token !== TokenType.COMMA) close();
      else state = inList ? 'element' : 'name';
    },
    'after list'({ token }) {
      expect(token === TokenType.COMMA || token === TokenType.RIGHT_BRACE);
      state = token === TokenType.COMMA ? 'name' : 'ended';
    },
    ended: () => expect(false),
  };
  tokenizer.onToken = (token) => {
    lastToken = token.offset;
    steps[state](token);
  };

  const here = (): string => (inList ? list.pathOf(elements) : '');
  /** Runs `work` and returns the pieces. The tokenizer's own errors quote the input, so they are replaced. */
  const read = (work: () => void): JsonPiece[] => {
    pieces = [];
    try {
      work();
    } catch (error) {
      if (isAppError(error, 'UNREADABLE')) throw error;
      throw unreadable(here(), `is not valid JSON near byte ${lastToken}`);
    }
    return pieces;
  };
  return {
    write: (slice: Uint8Array) =>
      read(() => {
        bytes = Buffer.concat([bytes, slice]);
        tokenizer.write(slice);
        // Blanks before the first token are no element, however many.
        if (state === 'root' && isBlank(bytes, 0, bytes.length)) lastToken = bytesFrom + bytes.length;
        // Outside a value: a name or white space since the newest token.
        const pendingFrom = valueAt ?? lastToken;
        bytes = bytes.subarray(pendingFrom - bytesFrom);
        bytesFrom = pendingFrom;
        if (bytes.length > ELEMENT_BYTES_MAX) throw unreadable(here(), TOO_LARGE);
      }),
    end: () =>
      read(() => {
        if (state === 'root') throw unreadable('', 'is not valid JSON');
        if (state !== 'ended') throw unreadable(here(), 'ends in the middle');
        if (!tokenizer.isEnded) tokenizer.end();
      }),
  };
}

function isOpening(token: TokenType): boolean {
  return token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET;
}

function isClosing(token: TokenType): boolean {
  return token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET;
}

const LINE_FEED = 0x0a;

/** Yields the values of newline-delimited JSON. Throws UNREADABLE with the path of `here`. */
export async function* ndjsonValues(content: AsyncIterable<Uint8Array>, here: () => string) {
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of validUtf8(content)) {
    const bytes: Buffer = Buffer.concat([rest, part]);
    let from = 0;
    for (let end = bytes.indexOf(LINE_FEED); end !== -1; end = bytes.indexOf(LINE_FEED, from)) {
      if (end > from) yield* valueIn(bytes.subarray(from, end), here);
      from = end + 1;
    }
    rest = bytes.subarray(from);
    if (rest.length > ELEMENT_BYTES_MAX) throw unreadable(here(), TOO_LARGE);
  }
  yield* valueIn(rest, here);
}

function* valueIn(line: Buffer, here: () => string): Generator<ParsedJson> {
  if (line.length > ELEMENT_BYTES_MAX) throw unreadable(here(), TOO_LARGE);
  const text = line.toString('utf8');
  if (text.trim() !== '') yield parseJson(text);
}
