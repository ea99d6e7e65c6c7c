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
  const cutter = new Cutter(list);
  for await (const slice of content) yield cutter.write(slice);
  yield cutter.end();
}

/** The part of the text that is expected next. */
type State =
  | ('root' | 'name or end' | 'name' | 'colon' | 'value')
  | ('element or end' | 'element' | 'inside' | 'after value' | 'after list' | 'ended');

type Token = { token: TokenType; value: unknown; offset: number };

/** Cuts a JSON list token by token. */
class Cutter {
  readonly #list: ListShape;
  readonly #tokenizer = new Tokenizer();
  readonly #fields: string[] = [];
  #elements = 0;
  #pieces: JsonPiece[] = [];
  #state: State = 'root';
  /** Whether an element of the list is next or is being read. */
  #inList = false;
  #isBare = false;
  #depth = 0;
  #valueAt: number | null = null;
  #lastToken = 0;
  /** The newest bytes of the stream, and the position of the first of them. */
  #bytes: Buffer = Buffer.alloc(0);
  #bytesFrom = 0;

  constructor(list: ListShape) {
    this.#list = list;
    this.#tokenizer.onToken = (token) => {
      this.#lastToken = token.offset;
      this.#steps[this.#state](token);
    };
  }

  write(slice: Uint8Array): JsonPiece[] {
    return this.#read(() => {
      this.#bytes = Buffer.concat([this.#bytes, slice]);
      this.#tokenizer.write(slice);
      // Blanks before the first token are no element, however many.
      if (this.#state === 'root' && isBlank(this.#bytes, 0, this.#bytes.length))
        this.#lastToken = this.#bytesFrom + this.#bytes.length;
      // Outside a value: a name or white space since the newest token.
      const pendingFrom = this.#valueAt ?? this.#lastToken;
      this.#bytes = this.#bytes.subarray(pendingFrom - this.#bytesFrom);
      this.#bytesFrom = pendingFrom;
      if (this.#bytes.length > ELEMENT_BYTES_MAX) throw unreadable(this.#here(), TOO_LARGE);
    });
  }

  end(): JsonPiece[] {
    return this.#read(() => {
      if (this.#state === 'root') throw unreadable('', 'is not valid JSON');
      if (this.#state !== 'ended') throw unreadable(this.#here(), 'ends in the middle');
      if (!this.#tokenizer.isEnded) this.#tokenizer.end();
    });
  }

  /** Runs `work` and returns the pieces. The tokenizer's own errors quote the input, so they are replaced. */
  #read(work: () => void): JsonPiece[] {
    this.#pieces = [];
    try {
      work();
    } catch (error) {
      if (isAppError(error, 'UNREADABLE')) throw error;
      throw unreadable(this.#here(), `is not valid JSON near byte ${this.#lastToken}`);
    }
    return this.#pieces;
  }

  #here(): string {
    return this.#inList ? this.#list.pathOf(this.#elements) : '';
  }

  readonly #steps: Record<State, (token: Token) => void> = {
    root: ({ token }) => {
      this.#isBare = this.#list.orBare && token === TokenType.LEFT_BRACKET;
      if (!this.#isBare && token !== TokenType.LEFT_BRACE) {
        const orBare = `must be an array, or an object with the array ${this.#list.list}`;
        throw unreadable('', this.#list.orBare ? orBare : 'must be an object');
      }
      this.#inList = this.#isBare;
      this.#state = this.#isBare ? 'element or end' : 'name or end';
    },
    'name or end': (token) => (token.token === TokenType.RIGHT_BRACE ? this.#close() : this.#name(token)),
    name: (token) => this.#name(token),
    colon: ({ token }) => {
      expect(token === TokenType.COLON);
      this.#state = 'value';
    },
    value: (token) => {
      this.#inList = this.#fields.at(-1) === this.#list.list && token.token === TokenType.LEFT_BRACKET;
      if (this.#inList) this.#state = 'element or end';
      else this.#begin(token);
    },
    'element or end': (token) =>
      token.token === TokenType.RIGHT_BRACKET ? this.#close() : this.#begin(token),
    element: (token) => this.#begin(token),
    inside: ({ token }) => {
      if (isOpening(token)) this.#depth += 1;
      if (isClosing(token)) this.#depth -= 1;
      if (this.#depth === 0) this.#state = 'after value';
    },
    'after value': ({ token, offset }) => {
      const closing = this.#inList ? TokenType.RIGHT_BRACKET : TokenType.RIGHT_BRACE;
      expect(token === TokenType.COMMA || token === closing);
      this.#end(offset);
      if (token !== TokenType.COMMA) this.#close();
      else this.#state = this.#inList ? 'element' : 'name';
    },
    'after list': ({ token }) => {
      expect(token === TokenType.COMMA || token === TokenType.RIGHT_BRACE);
      this.#state = token === TokenType.COMMA ? 'name' : 'ended';
    },
    ended: () => expect(false),
  };

  #problem(path: string, rule: string): void {
    this.#pieces.push({ kind: 'problem', problem: { path, rule } });
  }

  #close(): void {
    this.#state = this.#inList && !this.#isBare ? 'after list' : 'ended';
    this.#inList = false;
  }

  #name({ token, value }: Token): void {
    expect(token === TokenType.STRING);
    const field = value as string;
    if (this.#fields.includes(field)) this.#problem(givenFieldPath('', field), 'is given twice');
    this.#fields.push(field);
    if (this.#fields.length > FIELDS_MAX) throw unreadable('', `must have at most ${FIELDS_MAX} fields`);
    this.#state = 'colon';
  }

  #begin({ token, offset }: Token): void {
    expect(token !== TokenType.COMMA && token !== TokenType.COLON && !isClosing(token));
    this.#valueAt = offset;
    this.#depth = isOpening(token) ? 1 : 0;
    this.#state = this.#depth === 0 ? 'after value' : 'inside';
  }

  /** `offset`: where the token after the value starts. */
  #end(offset: number): void {
    const parsed = parseJson(
      this.#bytes.toString('utf8', (this.#valueAt ?? offset) - this.#bytesFrom, offset - this.#bytesFrom),
    );
    this.#valueAt = null;
    const field = this.#fields.at(-1) as string;
    if (this.#inList) {
      this.#elements += 1;
      this.#pieces.push({ kind: 'element', parsed });
    } else if (!parsed.ok) this.#problem(givenFieldPath('', field), parsed.reason);
    else if (field === this.#list.list) this.#problem(field, 'must be an array');
    else this.#pieces.push({ kind: 'field', name: field, value: parsed.value });
  }
}

function expect(good: boolean): void {
  if (!good) throw new Error('invalid JSON');
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
