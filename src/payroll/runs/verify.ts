/** Verifies a finalized run: computes it again from its ledger position and frozen basis. */
import { isDeepStrictEqual } from 'node:util';
import Type, { type Static } from 'typebox';
import { boolean, closed, component, integer, nullableText, text } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { byBytes } from '../../database/text-order.ts';
import { RULES_VERSION } from '../calculation/amounts.ts';
import { type Line, lineKey } from '../calculation/line.ts';
import { type Basis, frozenOf } from './basis.ts';
import { computeRun, type EmployeeLines, inputsOf } from './compute.ts';
import { type FrozenEmployee, readFrozenLines } from './reads.ts';
import type { StoredRun } from './store.ts';

export const Verification = component(
  'PayrollRunVerification',
  {
    identical: boolean('Every line is identical to the finalized one.'),
    lines: integer('The number of finalized lines.'),
    difference_count: integer('The number of differences.'),
    differences: Type.Array(
      closed({
        employee_id: text('The employee.'),
        line: nullableText(
          "The kind, deduction and run of the line. Null if the difference is the employee's presence in the run.",
        ),
        frozen: Type.Unknown({ description: 'The finalized value. Null if there was none.' }),
        computed: Type.Unknown({ description: 'The recomputed value. Null if there is none.' }),
      }),
      { description: 'The first 100 differences.' },
    ),
  },
  'The result of recomputing a finalized run.',
);
export type Verification = Static<typeof Verification>;
export type Difference = Verification['differences'][number];

/** Returns why this release cannot compute a finalized run again, or null if it can. */
export function whyOtherRules({ rules_version }: StoredRun): string | null {
  if (rules_version === RULES_VERSION) return null;
  return `The run was finalized by rules ${rules_version}, and this release computes by rules ${RULES_VERSION}. Verify it with the release that finalized it.`;
}

/** Differences named: enough to find the cause. */
const DIFFERENCES_NAMED = 100;

/**
 * Verifies a finalized or voided run. `basis` is the one frozen with it, for a caller that has parsed it.
 * `onPage` receives each computed page.
 */
export async function verifyRun(
  db: Db,
  stored: StoredRun,
  basis: Basis = frozenOf(stored).basis,
  onPage: (page: readonly EmployeeLines[]) => void = () => {},
): Promise<Verification> {
  const differences: Difference[] = [];
  let difference_count = 0;
  let lines = 0;
  const add = (difference: Difference): void => {
    difference_count += 1;
    if (differences.length < DIFFERENCES_NAMED) differences.push(difference);
  };
  const frozen = oneByOne(readFrozenLines(db, stored.freeze_id as string, '', unchecked));
  const again = oneByOne(recomputed(db, basis, onPage));
  let [one, other] = [await frozen.next(), await again.next()];
  while (!one.done || !other.done) {
    const left = one.done ? null : one.value;
    const right = other.done ? null : other.value;
    const order = left === null ? 1 : right === null ? -1 : byBytes(left.employeeId, right.employeeId);
    const [isLeft, isRight] = [order <= 0, order >= 0];
    lines += isLeft ? (left as FrozenEmployee).lines.length : 0;
    compare(isLeft ? left : null, isRight ? right : null, add);
    if (isLeft) one = await frozen.next();
    if (isRight) other = await again.next();
  }
  return { identical: difference_count === 0, lines, differences, difference_count };
}

/** The lines are compared with computed ones, which names what was altered better than a schema does. */
function unchecked({ lines }: { lines: string }): Line[] {
  return JSON.parse(lines);
}

async function* recomputed(
  db: Db,
  basis: Basis,
  onPage: (page: readonly EmployeeLines[]) => void,
): AsyncGenerator<FrozenEmployee[]> {
  for await (const page of computeRun(db, await inputsOf(db, basis))) {
    onPage(page);
    yield page
      .filter(({ membership, lines }) => membership.isIn || lines.length > 0)
      .map(({ employeeId, membership, lines }) => ({
        employeeId,
        rosterPosition: membership.isIn ? membership.employment.position : null,
        lines,
      }));
  }
}

async function* oneByOne<T>(pages: AsyncIterable<T[]>): AsyncGenerator<T, undefined> {
  for await (const page of pages) yield* page;
}

function compare(
  frozen: FrozenEmployee | null,
  computed: FrozenEmployee | null,
  add: (difference: Difference) => void,
): void {
  const employee_id = (frozen ?? computed)?.employeeId as string;
  const [was, is] = [frozen?.rosterPosition ?? null, computed?.rosterPosition ?? null];
  if (was !== is) add({ employee_id, line: null, frozen: was, computed: is });
  const [before, now] = [byKey(frozen), byKey(computed)];
  for (const key of new Set([...before.keys(), ...now.keys()])) {
    const [old, own] = [before.get(key) ?? null, now.get(key) ?? null];
    if (!isDeepStrictEqual(old, own)) add({ employee_id, line: key, frozen: old, computed: own });
  }
}

function byKey(employee: FrozenEmployee | null): Map<string, Line> {
  return new Map((employee?.lines ?? []).map((line) => [lineKey(line), line]));
}
