/**
 * Derives texts that make a backtracking engine work hardest for an expression: what each of its repetitions matches,
 * repeated, after what must come first, and then something that does not match.
 */

/** A text that is a part, repeated. */
export type Input = { before: string; part: string; after: string };

/** Parts that expressions are about, in order of preference as the example of a class. */
const CHARACTERS = [
  ...'a0 A,."\\-/:;=@#?%+*_\'()[]{}<>|!$&~`^',
  '\n',
  '\u0081',
  '\t',
  '\r',
  '\0',
  '€',
  '–',
  '\u200b',
  '\u2028',
  '\u009b',
];
const ENDS = ['', '\0', '!', '\n\n', ' ', 'a'];
/** Examples kept of each piece of an expression; more multiply without being worse. */
const EXAMPLES = 3;

export function worstInputs({ source, flags }: RegExp): Input[] {
  const repeated = new Set<string>();
  const inputs: Input[] = [];
  const add = (before: string, part: string) => {
    if (part !== '') for (const after of ENDS) inputs.push({ before, part, after });
  };
  const { examples } = readAlternatives({ source, flags, at: 0 }, [''], (before, part) => {
    repeated.add(part);
    for (const text of before) add(text, part);
  });
  const parts = [...new Set([...repeated, ...examples])].filter((part) => part !== '');
  for (const part of parts) add('', part);
  // Neighboring repetitions that match the same text may divide it in many ways.
  for (const one of repeated) for (const two of repeated) if (one !== two) add('', one + two);
  return inputs;
}

type Position = { readonly source: string; readonly flags: string; at: number };
type Repeated = (before: readonly string[], part: string) => void;

/** Reads until a group or the expression ends. `before` has examples of the text in front. */
function readAlternatives(position: Position, before: readonly string[], onRepeated: Repeated) {
  const examples: string[] = [];
  for (;;) {
    let read = [''];
    while (position.at < position.source.length && !'|)'.includes(position.source[position.at] as string)) {
      const some = readTerm(position, joined(before, read), onRepeated);
      read = joined(read, some);
    }
    examples.push(...read);
    if (position.source[position.at] !== '|') return { examples: some(examples) };
    position.at += 1;
  }
}

/** Returns texts that an atom with its quantifier matches. */
function readTerm(position: Position, before: readonly string[], onRepeated: Repeated): string[] {
  const { source } = position;
  const isGroup = source[position.at] === '(';
  const examples = isGroup ? readGroup(position, before, onRepeated) : readAtom(position);
  const [quantifier] = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(source.slice(position.at)) ?? [''];
  position.at += quantifier.length;
  if (quantifier === '') return examples;
  const [, least = '0', most = ''] = /^\{(\d+)(?:,(\d*))?/.exec(quantifier) ?? [];
  if (/^[*+]/.test(quantifier) || most !== '' || least !== '0')
    for (const part of examples) onRepeated(before, part);
  const times = Math.max(1, Number(least));
  return examples.map((example) => example.repeat(times));
}

function readGroup(position: Position, before: readonly string[], onRepeated: Repeated): string[] {
  const [opening = ''] = /^\((?:\?(?:[:=!]|<[=!]|<\w+>))?/.exec(position.source.slice(position.at)) ?? [];
  position.at += opening.length;
  const { examples } = readAlternatives(position, before, onRepeated);
  position.at += 1;
  // A look-around matches no text of its own.
  return /[=!]$/.test(opening) ? [''] : examples;
}

function readAtom(position: Position): string[] {
  const [atom = ''] =
    /^(?:\\u\{[0-9a-f]+\}|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|\\p\{[^}]*\}|\\k<\w+>|\\.|\[(?:\\.|[^\]\\])*\]|.)/isu.exec(
      position.source.slice(position.at),
    ) ?? [];
  position.at += atom.length;
  if (/^(?:\^|\$|\\b|\\B|\\[1-9]|\\k.*)$/.test(atom)) return [''];
  const matches = new RegExp(`^${atom}$`, position.flags.replace(/[gm]/g, ''));
  const code = /^\\(?:u\{?|x)([0-9a-f]+)\}?$/i.exec(atom)?.[1];
  const literal =
    code === undefined ? atom.replace(/^\\(?=\W)/, '') : String.fromCodePoint(parseInt(code, 16));
  if (literal.length === 1 && matches.test(literal)) return [literal];
  const examples = [...new Set([...position.source, ...CHARACTERS])].filter((text) => matches.test(text));
  if (examples.length === 0) throw new Error(`no example of ${atom}`);
  // The preferred character, and all that the expression names: they may also match elsewhere in it.
  return some(CHARACTERS.filter((text) => matches.test(text)).concat(examples));
}

function joined(before: readonly string[], after: readonly string[]): string[] {
  return some(before.flatMap((start) => after.map((end) => start + end)));
}

/** Returns the first and the last of the examples, which differ most. */
function some(examples: readonly string[]): string[] {
  const all = [...new Set(examples)];
  return all.length <= EXAMPLES ? all : [...all.slice(0, EXAMPLES - 1), all.at(-1) as string];
}
