import { TokenType } from '@streamparser/json';

/**
 * The outline of a list in JSON: one object, of whose fields that of the list may be an array, or that array alone. It
 * takes the tokens one by one and tells where each field's value, and each element of the array, begins and ends.
 */

export type Token = { token: TokenType; value: unknown; offset: number };

export type Shape = {
  /** The field that holds the list. */
  readonly list: string;
  /** Whether the text may also be the array itself. */
  readonly orBare: boolean;
};

export type Outline = {
  /** Throws `WrongShape` or `BadGrammar`. */
  take(token: Token): void;
  readonly isEnded: boolean;
  /** Whether an element of the list is what comes or is being read. */
  readonly inList: boolean;
};

export class WrongShape extends Error {}
export class BadGrammar extends Error {}

type State =
  | 'root'
  | 'name or end'
  | 'name'
  | 'colon'
  | 'value'
  | 'element or end'
  | 'element'
  | 'inside'
  | 'behind'
  | 'behind the list'
  | 'ended';

export function createOutline(
  { list, orBare }: Shape,
  on: {
    named(field: string): void;
    begins(offset: number): void;
    /** `offset` is that of the token behind the value. */
    ends(offset: number): void;
  },
): Outline {
  let state: State = 'root';
  let inList = false;
  let isBare = false;
  let depth = 0;
  let isList = false;

  const expect = (good: boolean): void => {
    if (!good) throw new BadGrammar();
  };
  const close = (): void => {
    state = inList && !isBare ? 'behind the list' : 'ended';
    inList = false;
  };
  const begin = ({ token, offset }: Token): void => {
    expect(token !== TokenType.COMMA && token !== TokenType.COLON && !isClosing(token));
    on.begins(offset);
    depth = isOpening(token) ? 1 : 0;
    state = depth === 0 ? 'behind' : 'inside';
  };
  const name = ({ token, value }: Token): void => {
    expect(token === TokenType.STRING);
    isList = value === list;
    on.named(value as string);
    state = 'colon';
  };

  const steps: Record<State, (token: Token) => void> = {
    root({ token }) {
      isBare = orBare && token === TokenType.LEFT_BRACKET;
      if (!isBare && token !== TokenType.LEFT_BRACE) throw new WrongShape();
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
      inList = isList && token.token === TokenType.LEFT_BRACKET;
      if (inList) state = 'element or end';
      else begin(token);
    },
    'element or end': (token) => (token.token === TokenType.RIGHT_BRACKET ? close() : begin(token)),
    element: begin,
    inside({ token }) {
      if (isOpening(token)) depth += 1;
      if (isClosing(token)) depth -= 1;
      if (depth === 0) state = 'behind';
    },
    behind({ token, offset }) {
      expect(
        token === TokenType.COMMA || token === (inList ? TokenType.RIGHT_BRACKET : TokenType.RIGHT_BRACE),
      );
      on.ends(offset);
      if (token !== TokenType.COMMA) close();
      else state = inList ? 'element' : 'name';
    },
    'behind the list'({ token }) {
      expect(token === TokenType.COMMA || token === TokenType.RIGHT_BRACE);
      state = token === TokenType.COMMA ? 'name' : 'ended';
    },
    ended: () => expect(false),
  };

  return {
    take: (token) => steps[state](token),
    get isEnded() {
      return state === 'ended';
    },
    get inList() {
      return inList;
    },
  };
}

function isOpening(token: TokenType): boolean {
  return token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET;
}

function isClosing(token: TokenType): boolean {
  return token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET;
}
