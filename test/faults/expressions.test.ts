/** Regular expressions meet text from outside: webhooks, files, requests, configuration. None may stop the process. */
import { readdirSync, readFileSync } from 'node:fs';
import { parseSync } from '@swc/core';
import t, { type Test } from 'tap';
import { cpuTime } from '../support/cpu-time.ts';
import { type Input, worstInputs } from '../support/worst-inputs.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
/** Built from the routes' own paths while the sidecar starts. */
const BUILT_AT_RUN_TIME = ['src/api/route.ts'];
/** In place of a number in an expression that is built: the largest bound of a text that has one. */
const BOUND = '1000';

const MEGABYTE = 2 ** 20;
/** Quadratic time shows at the first size, so that a failure takes no minutes. */
const SIZES = [MEGABYTE / 64, MEGABYTE / 8, MEGABYTE];
const SCREENING_SIZE = 4_096;
/** Inputs of an expression that take the longest at the screening size. */
const WORST = 3;
/** Times the cost of a plain expression. The slowest of today takes twice as long. */
const FACTOR = 20;

type Node = { readonly type?: string; readonly [key: string]: unknown };
type Located = { file: string; expression: RegExp };
type Linear = { size: number; linearMs: number };

t.test('every expression takes linear time for a megabyte of its worst input', async (t) => {
  const files = readdirSync(`${ROOT}src`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && name !== 'client-types.ts')
    .map((name) => `src/${name}`);
  const nodes = new Map(files.map((file) => [file, nodesOf(file)]));
  const constants = constantsOf([...nodes.values()].flat());
  const located = files.flatMap((file) => expressionsIn(file, nodes.get(file) ?? [], constants));
  t.ok(located.length > 100, `${located.length} expressions`);
  const linear: Linear[] = [];
  for (const size of SIZES)
    linear.push({ size, linearMs: await leastOf(() => costOf(/[^b]{4}b/, 'a'.repeat(size))) });
  // The same expression may be in several files.
  const distinct = new Map(located.map((place) => [String(place.expression), place]));
  for (const [text, { file, expression }] of distinct)
    await checkLinear(t, `${file} ${text}`, expression, linear);
});

async function checkLinear(t: Test, name: string, expression: RegExp, linear: readonly Linear[]) {
  const screened: { input: Input; cpuMs: number }[] = [];
  for (const input of worstInputs(expression))
    screened.push({ input, cpuMs: await costOf(expression, textOf(input, SCREENING_SIZE)) });
  const worst = screened.toSorted((one, two) => two.cpuMs - one.cpuMs).slice(0, WORST);
  for (const { input } of worst) {
    for (const { size, linearMs } of linear) {
      const text = textOf(input, size);
      const limitMs = FACTOR * linearMs;
      const cpuMs = await leastOf(() => costOf(expression, text), limitMs);
      if (cpuMs < limitMs) continue;
      t.fail(`${name}: ${JSON.stringify(input)}, ${size} characters: ${cpuMs} ms, linear ${linearMs} ms`);
      return;
    }
  }
  t.pass(name);
}

function textOf({ before, part, after }: Input, size: number): string {
  return before + part.repeat(Math.ceil(size / part.length)) + after;
}

/** Searches from every place, as replacing and splitting do. Throws if the engine runs out of stack. */
async function costOf(expression: RegExp, text: string): Promise<number> {
  const everywhere = new RegExp(expression, `${expression.flags.replace('g', '')}g`);
  return (await cpuTime(() => text.replace(everywhere, ''))).cpuMs;
}

/** Measures up to three times, because the engine compiles an expression at its first uses. Ends below `enough`. */
async function leastOf(measure: () => Promise<number>, enough = 0): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let count = 0; count < 3 && least >= enough; count += 1) least = Math.min(least, await measure());
  return least;
}

type Constants = Pick<ReadonlyMap<string, Node>, 'get'>;

function nodesOf(file: string): Node[] {
  const parsed = parseSync(readFileSync(ROOT + file, 'utf8'), { syntax: 'typescript', target: 'es2024' });
  return collectNodes(parsed, []);
}

function constantsOf(nodes: readonly Node[]): ReadonlyMap<string, Node> {
  return new Map(
    nodes.flatMap(({ type, id, init }) =>
      type === 'VariableDeclarator' && isNode(id) && isNode(init) ? [[String(id.value), init]] : [],
    ),
  );
}

/** Returns the literals of a file, and what it builds of texts: expressions and the patterns of JSON schemas. */
function expressionsIn(file: string, nodes: readonly Node[], everywhere: Constants): Located[] {
  const local = constantsOf(nodes);
  const constants = { get: (name: string) => local.get(name) ?? everywhere.get(name) };
  return nodes.flatMap((node) => {
    if (node.type === 'RegExpLiteral')
      return { file, expression: new RegExp(String(node.pattern), String(node.flags)) };
    const [source, flags] = partsOf(node);
    if (source === null || BUILT_AT_RUN_TIME.includes(file)) return [];
    return { file, expression: new RegExp(evaluated(source, constants, file), flags) };
  });
}

/** Returns what an expression is built of: `new RegExp(source, flags)` or `pattern: source`. */
function partsOf({ type, callee, arguments: args, key, value }: Node): [source: Node | null, flags: string] {
  if (type === 'NewExpression' && isNode(callee) && callee.value === 'RegExp') {
    const [source, flags] = (args as { expression: Node }[]).map(({ expression }) => expression);
    return [source ?? null, String(flags?.value ?? '')];
  }
  // The validator compiles patterns with this flag.
  const isPattern = type === 'KeyValueProperty' && isNode(key) && key.value === 'pattern' && isNode(value);
  return [isPattern ? value : null, 'u'];
}

/** Evaluates texts, templates and constants. A number becomes `BOUND`. */
function evaluated(node: Node, constants: Constants, file: string): string {
  // The parser returns this escape as it is written.
  if (node.type === 'StringLiteral') return String(node.value).replaceAll('\\\\u', '\\u');
  if (node.type === 'TemplateLiteral') {
    const quasis = node.quasis as { cooked: string }[];
    const expressions = node.expressions as Node[];
    return quasis
      .map(({ cooked }, at) => {
        const expression = expressions[at];
        return cooked + (expression === undefined ? '' : evaluated(expression, constants, file));
      })
      .join('');
  }
  const constant = node.type === 'Identifier' ? constants.get(String(node.value)) : undefined;
  if (constant !== undefined && constant.type !== 'NumericLiteral')
    return evaluated(constant, constants, file);
  if (constant !== undefined || node.type === 'BinaryExpression') return BOUND;
  throw new Error(`${file}: write the expression as a literal, or of constants`);
}

/** Adds the nodes of a value, at every depth, to `nodes`. */
function collectNodes(value: unknown, nodes: Node[]): Node[] {
  if (typeof value !== 'object' || value === null) return nodes;
  if (isNode(value)) nodes.push(value);
  for (const child of Object.values(value)) collectNodes(child, nodes);
  return nodes;
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}
