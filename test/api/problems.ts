/** Requests that are refused, each named by the problem details that it gets. */
import type { Test } from 'tap';
import type { Answer, Request } from './start.ts';

/**
 * By what is wrong → the status, then each field with an expression for its rule (`400 limit: whole number; state: one of open`),
 * or in parentheses an expression for the detail (`409 (no longer open)`). An empty expression matches any text.
 */
export type Refused = Record<`${string} → ${number} ${string}`, Request>;

export async function assertRefused(t: Test, call: (request: Request) => Promise<Answer>, cases: Refused) {
  for (const [name, request] of Object.entries(cases)) {
    const [, status, expected = ''] = /→ (\d+) (.*)$/.exec(name) ?? [];
    const [, detail] = /^\((.*)\)$/.exec(expected) ?? [];
    const problems = detail === undefined ? expected.split('; ').map((text) => text.split(':')) : [];
    const { json, text, headers, status: responded } = await call(request);
    t.equal(responded, Number(status), `${name}: ${text}`);
    t.match(headers['content-type'], 'application/problem+json', name);
    t.equal(json.status, responded, name);
    t.match(json.detail, detail === undefined ? `${problems[0]?.[0]}: ` : expression(detail), name);
    if (detail === '') continue;
    const errors: { path: string; rule: string }[] = json.errors ?? [];
    const paths = errors.map(({ path }) => path);
    const expectedPaths = problems.map(([path]) => path);
    t.strictSame(paths, expectedPaths, name);
    for (const [index, [, ...rule]] of problems.entries())
      t.match(errors[index]?.rule, expression(rule.join(':').trim()), name);
  }
}

function expression(source: string): RegExp {
  return new RegExp(source || '.');
}
