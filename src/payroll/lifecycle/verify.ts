/** Verifies finalized runs: computes them again from their ledger positions and frozen bases. */
import { isDeepStrictEqual } from 'node:util';
import Type, { type Static } from 'typebox';
import { boolean, closed, component, integer, nullableText, text } from '../../contract/fields.ts';
import type { Verifying } from '../../database/difference.ts';
import { byBytes } from '../../database/engine.ts';
import { isUnavailable } from '../../database/errors.ts';
import type { Db } from '../../database/tables.ts';
import type { Viewer } from '../../ledger/visibility.ts';
import { RULES_VERSION } from '../calculation/amounts.ts';
import { type Line, type LineRecord, lineKey, lineRecord } from '../calculation/line.ts';
import { type Computation, computationOf } from '../compute/computation.ts';
import { computeRun } from '../compute/compute.ts';
import type { EmployeeLines } from '../compute/taking.ts';
import { overridesOf } from '../facts/overrides.ts';
import { frozenBasisOf, hashOf, hashOfBasis, storedBasisOf } from '../records/basis.ts';
import { type RequestedRun, type Run, runOf } from '../records/body.ts';
import { FROZEN, freezesLeft } from '../records/freezes.ts';
import {
  type FrozenEmployee,
  linesToCompare,
  linesToStore,
  readFrozenLines,
  type StoredLines,
} from '../records/frozen-lines.ts';
import { type FrozenOutcome, frozenOutcomeOf } from '../records/outcome.ts';
import { bodyOf, findRun, OF_BODY, runIds, type StoredRun } from '../records/runs.ts';
import { type Settlement, settlementsOf, settlementsUnder } from '../records/settlements.ts';
import { verifyRunRecords } from '../records/verify-run-records.ts';
import { OPTIONS } from '../settings/policy.ts';
import { isOtherThanAccepted } from './accept-findings.ts';
import { acceptancesOf, hashOfAcceptances } from './acceptances.ts';
import { createSummary } from './summary.ts';
import { withVisibleCauses } from './visible-causes.ts';

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
          "The open item of the line, or `regular` and its deduction. Null if the difference is the employee's presence in the run.",
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

const DIFFERENCES_NAMED = 100;

/**
 * Verifies a finalized or voided run. `viewer`: a caller limited to employers, or null. Throws STORED_JSON_DAMAGED if its
 * frozen lines cannot be read.
 */
export async function verifyRun(
  db: Db,
  stored: StoredRun,
  viewer: Viewer | null = null,
): Promise<Verification> {
  const verification = await compareLines(db, stored, await computationAgain(db, stored));
  return { ...verification, differences: await visibleDifferences(db, viewer, verification.differences) };
}

/** Returns differences whose lines hide the causes that the caller may not see. */
async function visibleDifferences(
  db: Db,
  viewer: Viewer | null,
  differences: readonly Difference[],
): Promise<Difference[]> {
  const lines = differences.flatMap(({ line, frozen, computed }) =>
    line === null ? [] : ([frozen, computed].filter((value) => value !== null) as LineRecord[]),
  );
  const visible = await withVisibleCauses(db, viewer, lines);
  const shown = new Map<unknown, LineRecord>(
    lines.map((line, index) => [line, visible[index] as LineRecord]),
  );
  const shownValue = (value: unknown): unknown => shown.get(value) ?? value;
  return differences.map((difference) => ({
    ...difference,
    frozen: shownValue(difference.frozen),
    computed: shownValue(difference.computed),
  }));
}

async function computationAgain(db: Db, stored: StoredRun): Promise<Computation> {
  return computationOf(db, stored.run_id, await frozenBasisOf(db, stored));
}

/** An employee with the lines that are computed now, and as JSON. */
type Computed = FrozenEmployee<readonly Line[]> & { text: string };

/**
 * Compares the frozen lines of a run with its computation. `textOf` receives each computed employee and returns the lines
 * as JSON. `read` parses the frozen lines of employees for whom the two texts differ.
 */
async function compareLines(
  db: Db,
  stored: StoredRun,
  computation: Computation,
  textOf = ({ lines }: EmployeeLines) => linesToStore(lines),
  read = linesToCompare,
): Promise<Verification> {
  const differences: Difference[] = [];
  let difference_count = 0;
  let lines = 0;
  const add = (difference: Difference): void => {
    difference_count += 1;
    if (differences.length < DIFFERENCES_NAMED) differences.push(difference);
  };
  const rows = readFrozenLines(db, stored.freeze_id as string, '', (row) => row);
  const [frozen, computed] = [eachEmployee(rows), eachEmployee(recomputed(db, computation, textOf))];
  let [nextFrozen, nextComputed] = [await frozen.next(), await computed.next()];
  while (!nextFrozen.done || !nextComputed.done) {
    const before = nextFrozen.done ? null : nextFrozen.value;
    const now = nextComputed.done ? null : nextComputed.value;
    const order = before === null ? 1 : now === null ? -1 : byBytes(before.employeeId, now.employeeId);
    const [isFrozen, isComputed] = [order <= 0, order >= 0];
    lines += compare(isFrozen ? before : null, isComputed ? now : null, read, add);
    if (isFrozen) nextFrozen = await frozen.next();
    if (isComputed) nextComputed = await computed.next();
  }
  return { identical: difference_count === 0, lines, differences, difference_count };
}

async function* recomputed(
  db: Db,
  computation: Computation,
  textOf: (computed: EmployeeLines) => string,
): AsyncGenerator<Computed[]> {
  for await (const page of computeRun(db, computation)) {
    yield page
      .map((computed): Computed => {
        const { employee, lines } = computed;
        const { employeeId, membership } = employee;
        const rosterPosition = membership.isIn ? membership.employment.position : null;
        return { employeeId, rosterPosition, lines, text: textOf(computed) };
      })
      .filter(({ rosterPosition, lines }) => rosterPosition !== null || lines.length > 0);
  }
}

async function* eachEmployee<Employee>(
  pages: AsyncIterable<Employee[]>,
): AsyncGenerator<Employee, undefined> {
  for await (const page of pages) yield* page;
}

/** Adds the differences of an employee, and returns the number of frozen lines. */
function compare(
  frozen: FrozenEmployee<StoredLines> | null,
  computed: Computed | null,
  read: typeof linesToCompare,
  add: (difference: Difference) => void,
): number {
  const employee_id = (frozen ?? computed)?.employeeId as string;
  const [was, is] = [frozen?.rosterPosition ?? null, computed?.rosterPosition ?? null];
  if (was !== is) add({ employee_id, line: null, frozen: was, computed: is });
  if (computed !== null && frozen?.lines.lines === computed.text) return computed.lines.length;
  const frozenLines = frozen === null ? [] : read(frozen.lines);
  const [before, now] = [byKey(frozenLines), byKey((computed?.lines ?? []).map(lineRecord))];
  for (const key of new Set([...before.keys(), ...now.keys()])) {
    const [frozenLine, computedLine] = [before.get(key) ?? null, now.get(key) ?? null];
    if (!isDeepStrictEqual(frozenLine, computedLine))
      add({ employee_id, line: key, frozen: frozenLine, computed: computedLine });
  }
  return frozenLines.length;
}

function byKey(lines: readonly LineRecord[]): Map<string, LineRecord> {
  return new Map(lines.map((line) => [lineKey(line), line]));
}

/** IDs of runs read at once. Each run is then read separately, because its basis may be megabytes. */
const RUNS_AT_ONCE = 500;
const NAMED = 1_000;

export type RunsVerified = {
  runs: number;
  lines: number;
  /** Runs finalized under the rules of a different release, which can verify them. */
  otherRules: number;
};

/** Verifies every run. Of an open run, only the body and its columns. */
export async function verifyRuns(db: Db, on: Verifying): Promise<RunsVerified> {
  const verified: RunsVerified = { runs: 0, lines: 0, otherRules: 0 };
  for await (const rows of runIds(db, RUNS_AT_ONCE)) {
    for (const { run_id } of rows) {
      on.signal.throwIfAborted();
      const stored = await findRun(db, run_id);
      if (stored !== null) await verifyStored(db, stored, verified, on);
    }
  }
  await verifyRunRecords(db, on);
  await verifyLeft(db, on);
  return verified;
}

async function verifyStored(db: Db, stored: StoredRun, verified: RunsVerified, on: Verifying): Promise<void> {
  const wrong = (field: string, rule: string) => on.report('payroll_runs', stored.run_id, field, rule);
  const body = parsed(() => bodyOf(stored));
  if (body === null) return wrong('body', 'cannot be read');
  for (const field of OF_BODY) if (stored[field] !== body[field]) wrong(field, 'does not match its body');
  if (stored.state === 'open') {
    for (const field of ['accept_reason', 'finalize_key_hash'] as const)
      if (stored[field] !== null) wrong(field, 'is given, but the run is open');
    // The frozen basis of a final run is compared with its body below.
    if (!isRequestable(body)) wrong('body', 'is none that can be asked for');
    const isWrong = () => isOtherThanAccepted(db, stored.run_id);
    // Read again, because findings may be accepted in between, or the run may become final with them.
    if ((await isWrong()) && (await isWrong()) && (await findRun(db, stored.run_id))?.state === 'open')
      on.report('accepted_findings', stored.run_id, 'run_id', 'or another field is not what was accepted');
    return;
  }
  if (stored.outcome_hash !== hashOf(stored.outcome ?? '')) wrong('outcome', 'does not have its stored hash');
  const outcome = parsed(() => frozenOutcomeOf(stored));
  if (outcome === null) return wrong('outcome', 'cannot be read');
  const acceptances = await acceptancesOf(db, stored.run_id);
  // The findings accepted with the run come first; the others were accepted before it.
  const [first] = outcome.accepted_checks.length > 0 ? acceptances.rows : [];
  if (stored.accept_reason !== (first?.reason ?? null))
    wrong('accept_reason', 'is not the reason of the accepted findings');
  if (outcome.acceptances_hash !== hashOfAcceptances(acceptances.rows, acceptances.by)) {
    const rule = 'or another field is not what the run recorded';
    on.report('accepted_findings', stored.run_id, 'record_id', rule);
  }
  if (parsed(() => storedBasisOf(stored)) === null) return wrong('basis', 'cannot be read');
  const basis = await frozenBasisOf(db, stored);
  if (stored.basis_hash !== hashOfBasis(basis))
    wrong('basis', 'does not have its stored hash with the previous run and the inputs');
  if (!isOf(basis.run, body)) wrong('basis', 'is not of the run of its body');
  if (basis.position !== stored.position) wrong('position', 'is not the position it was computed from');
  if (!isDeepStrictEqual(await overridesOf(db, stored.run_id), basis.overrides))
    on.report(
      'run_overrides',
      stored.run_id,
      'member_amount',
      'or another field is not what the run recorded',
    );
  verified.runs += 1;
  if (whyOtherRules(stored) !== null) {
    verified.otherRules += 1;
    return;
  }
  try {
    const computation = await computationOf(db, stored.run_id, basis);
    verified.lines += await verifyLines(db, stored, computation, outcome, on);
  } catch (error) {
    if (isUnavailable(error) || on.signal.aborted) throw error;
    // Its basis was damaged so that nothing can be computed from it.
    wrong('basis', 'does not let it be computed again');
  }
}

/** Returns whether a frozen run is a body's run, with the options of the policy. */
function isOf(run: Run, body: RequestedRun): boolean {
  const options = OPTIONS.map((name) => [name, run[name]]);
  return isDeepStrictEqual(run, { ...body, ...Object.fromEntries(options) });
}

/** Reports whether a request could have produced the body. */
function isRequestable(run: RequestedRun): boolean {
  const fields = Object.entries(run).filter(([, value]) => value !== null && !isDeepStrictEqual(value, []));
  return isDeepStrictEqual(
    parsed(() => runOf(Object.fromEntries(fields))),
    run,
  );
}

/** Recomputes the lines and the totals. Returns the number of stored lines. */
async function verifyLines(
  db: Db,
  stored: StoredRun,
  computation: Computation,
  frozenOutcome: FrozenOutcome,
  on: Verifying,
): Promise<number> {
  const wrong = (field: string, rule: string) => on.report('payroll_runs', stored.run_id, field, rule);
  const summary = createSummary(computation);
  const settlements: Settlement[] = [];
  const textOf = (computed: EmployeeLines): string => {
    settlements.push(...settlementsOf(stored.freeze_id as string, computed.lines));
    on.looked(1);
    return summary.add(computed);
  };
  const read: typeof linesToCompare = (row) => {
    const lines = parsed(() => linesToCompare(row));
    if (lines === null)
      on.report('run_employees', `${row.freeze_id}/${row.employee_id}`, 'lines', 'cannot be read');
    return lines ?? [];
  };
  const compared = await compareLines(db, stored, computation, textOf, read);
  const { lines, differences, difference_count } = compared;
  for (const { employee_id, line } of differences) {
    const field = line === null ? 'roster_position' : 'lines';
    const rule = `run ${stored.run_id} does not compute it so`;
    on.report('run_employees', `${stored.freeze_id}/${employee_id}`, field, rule);
  }
  const left = difference_count - differences.length;
  if (left > 0) wrong('freeze_id', `${left} more lines differ`);
  const { etag, totals, outcome } = summary.summary();
  if (stored.etag !== etag) wrong('etag', 'is not the ETag of its lines');
  if (stored.totals !== JSON.stringify(totals)) wrong('totals', 'are not the totals of its lines');
  const { accepted_checks: _, acceptances_hash: __, approval_id: ___, ...storedOutcome } = frozenOutcome;
  if (!isDeepStrictEqual(outcome, storedOutcome)) wrong('outcome', 'is not what its lines come to');
  await verifySettlements(db, stored, settlements, on);
  return lines;
}

/** Compares what the run is recorded to settle with what its computed lines settle. */
async function verifySettlements(
  db: Db,
  { freeze_id, run_id }: StoredRun,
  computed: readonly Settlement[],
  on: Verifying,
): Promise<void> {
  const textOf = (settlement: Settlement) => JSON.stringify(Object.entries(settlement).sort());
  const left = new Map(computed.map((settlement) => [textOf(settlement), settlement]));
  const differs = ({ employee_id }: Settlement) =>
    on.report(
      'run_settlements',
      `${freeze_id}/${employee_id}`,
      'settles',
      `run ${run_id} does not compute it so`,
    );
  for (const settlement of await settlementsUnder(db, freeze_id as string)) {
    if (!left.delete(textOf(settlement))) differs(settlement);
  }
  for (const settlement of left.values()) differs(settlement);
}

function parsed<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

async function verifyLeft(db: Db, { report }: Verifying): Promise<void> {
  for (const table of FROZEN) {
    for (const freeze_id of await freezesLeft(db, table, NAMED))
      report(table, freeze_id, 'freeze_id', 'there is no such run');
  }
}
