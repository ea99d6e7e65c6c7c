/** Payroll runs as the API and the command line show them. */
import Type, { type Static } from 'typebox';
import type { UnappliedChange as Change } from '../../checks.ts';
import { component, nullable } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { UnappliedChange, unappliedChanges, withoutAmounts } from '../../inbox/unapplied.ts';
import { type Line, LineRecord, lineRecord } from '../calculation/line.ts';
import { runUnder } from '../compute/basis.ts';
import { readTaken } from '../facts/taken.ts';
import { storedBasisOf } from '../records/basis.ts';
import type { Run, StatedRun } from '../records/body.ts';
import type { LinesOfEmployee } from '../records/frozen-lines.ts';
import { frozenOutcomeOf } from '../records/outcome.ts';
import { bodyOf, type RunRow, type StoredRun } from '../records/runs.ts';
import { totalsOf } from '../records/totals.ts';
import { OPTIONS, readPolicies } from '../settings/policy.ts';
import type { RunView } from './results.ts';

export const runCursor = cursorOf(
  'payroll-runs',
  Type.Object({ payDate: Type.String(), runId: Type.String() }),
);

/** A line and, while its run is open, the newest change of its amount that is not applied. */
export const ShownLine = component(
  'Line',
  {
    ...LineRecord.properties,
    unapplied: nullable({
      ...UnappliedChange,
      description:
        'The newest change of this amount that arrived and is not applied. Null without one, and for a run that is not open.',
    }),
  },
  'One deduction from one paycheck.',
);
export type ShownLine = Static<typeof ShownLine>;

export type PayrollRun = Awaited<ReturnType<typeof viewStoredRun>>;
export type PayrollRunSummary = ReturnType<typeof viewRunSummary>;
export type PayrollRunPreview = Awaited<ReturnType<typeof viewPreview>>;

/** Returns a stored run with its computed values. */
export async function viewStoredRun(db: Db, view: RunView, stored: StoredRun) {
  return { ...(await storedFields(db, stored, view.run, view.acceptedChecks)), ...computedFields(view) };
}

/** Returns a stored run without its computed values. */
export async function outlineOf(db: Db, stored: StoredRun) {
  if (stored.state !== 'open') {
    return storedFields(db, stored, storedBasisOf(stored).run, frozenOutcomeOf(stored).accepted_checks);
  }
  const policies = await readPolicies(db, stored.employer_id);
  return storedFields(db, stored, runUnder(bodyOf(stored), policies), []);
}

async function storedFields(db: Db, stored: StoredRun, run: Run, acceptedChecks: readonly string[]) {
  return {
    id: stored.run_id,
    ...fieldsOf(run, bodyOf(stored)),
    state: stored.state,
    created_at: stored.created_at,
    finalized_at: stored.finalized_at,
    voided_at: stored.voided_at,
    etag: stored.etag,
    totals: stored.totals === null ? null : totalsOf(stored),
    accept_reason: stored.accept_reason,
    accepted_checks: [...acceptedChecks],
    void_reason: stored.void_reason,
    taken_reports: await readTaken(db, stored.run_id),
  };
}

/** Without `seesAmounts`, changes that are not applied are shown without their amounts. */
export async function viewPreview(
  db: Db,
  view: RunView,
  stated: StatedRun,
  lines: Line[] | null,
  seesAmounts: boolean,
) {
  const shown = lines === null ? null : await markedLines(db, seesAmounts, lines);
  return { ...fieldsOf(view.run, stated), ...computedFields(view), lines: shown };
}

async function markedLines(db: Db, seesAmounts: boolean, lines: readonly Line[]): Promise<ShownLine[]> {
  const changes = await unappliedChanges(db);
  return lines.map((line) => markedLine(line, changes, seesAmounts));
}

/** Yields the lines of a run as they are shown. Changes that are not applied are read once for all pages. */
export async function* shownLines(
  db: Db,
  { state }: Pick<StoredRun, 'state'>,
  pages: AsyncIterable<LinesOfEmployee[]>,
  seesAmounts: boolean,
): AsyncGenerator<{ employeeId: string; lines: ShownLine[] }[]> {
  const changes: Changes = state === 'open' ? await unappliedChanges(db) : new Map();
  for await (const page of pages) {
    yield page.map(({ employeeId, lines }) => {
      return { employeeId, lines: lines.map((line) => markedLine(line, changes, seesAmounts)) };
    });
  }
}

type Changes = ReadonlyMap<string, readonly Change[]>;

function markedLine(line: Line, changes: Changes, seesAmounts: boolean): ShownLine {
  const isOfLine = ({ deduction_id, line_of_coverage }: Change) =>
    deduction_id === null ? line_of_coverage === line.line_of_coverage : deduction_id === line.deduction_id;
  const change = line.kind === 'regular' ? changes.get(line.employee_id)?.find(isOfLine) : undefined;
  const unapplied = change === undefined || seesAmounts ? (change ?? null) : withoutAmounts(change);
  return { ...lineRecord(line), unapplied };
}

function computedFields({ plan, outcome, ...view }: RunView) {
  const { employees, comparison, not_in_run, not_in_run_count } = outcome;
  return {
    pay_dates_used: plan.dates,
    calendar_assumed: plan.calendarAssumed,
    position: view.position,
    rules_version: view.rulesVersion,
    etag: view.etag,
    employees,
    totals: view.totals,
    comparison,
    not_in_run,
    not_in_run_count,
  };
}

/** Returns a stored run as a list shows it: without computed values and lists of ids. */
export function viewRunSummary(stored: RunRow) {
  const { run_id, totals, ...row } = stored;
  return {
    id: run_id,
    ...row,
    pay_frequency: row.pay_frequency as Run['pay_frequency'],
    totals: totals === null ? null : totalsOf(stored),
  };
}

/** Returns the run with its effective options, and the names of the options that it states itself. */
function fieldsOf(run: Run, stated: StatedRun) {
  return { ...run, stated_options: OPTIONS.filter((name) => stated[name] !== null) };
}
