/** The records of a database in the form of the model's world: facts, versions, and final runs with their lines. */
import type { ItemDecisionTable, OpeningItemTable } from '../../../src/database/tables.ts';
import type { LineRecord } from '../../../src/payroll/calculation/line.ts';
import type { StoredBasis } from '../../../src/payroll/records/basis.ts';
import { storedRecords } from '../../../src/payroll/records/frozen-lines.ts';
import type { Schedule } from '../../../src/payroll/settings/schedules.ts';
import {
  checkOf,
  isShared,
  type ModelAssignment,
  type ModelFact,
  type ModelRun,
  type ModelTaken,
  type ModelVersion,
  mapOf,
  printed,
  type World,
} from './model.ts';
import type { ModelItemDecision, ModelOpening } from './model-items.ts';
import { cents, modelLine } from './model-lines.ts';
import { modelOf } from './model-run.ts';

/** The statements that read the records. */
export const RECORDS = {
  runs: `select run_id, freeze_id, basis, (select record_id from audit_records
      where resource_type = 'run' and resource_id = run_id and action = 'run.finalize') as record
    from payroll_runs where state <> 'open'`,
  schedules: 'select employer_id, schedules, record_id as record from pay_schedules order by record_id',
  inputs: 'select freeze_id, earlier_run_id, report, is_voided from run_inputs',
  employees: 'select freeze_id, employee_id, roster_position, lines from run_employees',
  facts: `select position, source, received_on as received, employee_id, employer_id, hire_date,
    termination_date, pay_frequency, pay_group, absent, effective_on from roster_facts order by position`,
  versions: `select position, deduction_id as deduction, employee_id as employee, line_of_coverage as coverage,
    coverage_type as "coverageType", taxability, period, member_contribution as member,
    employer_contribution as employer, starts_on as start, ends_on as "end", event_time as sent,
    case when event_id like 'import_%' then substr(recorded_at, 1, 10) end as "importedOn"
    from deduction_versions order by position`,
  assignments: `select position, deduction_id as deduction, employer_id as employer, effective_on as "from"
    from deduction_assignments order by position`,
  taken: `select taken_lines.run_id as run, taken_lines.report, employee_id as employee, line, amount from taken_lines
    join taken_reports on taken_reports.run_id = taken_lines.run_id and taken_reports.report = taken_lines.report
    where recorded_at is not null order by taken_lines.report`,
  itemDecisions: `select decision_id, employer_id, employee_id, item_id, action, member_amount, employer_amount, amount,
    until from item_decisions order by employer_id, decision_id`,
  openings: `select ordinal, opening_id, employer_id, employee_id, deduction_id, line_of_coverage, taxability,
    member_amount, employer_amount, pay_date from opening_items order by employer_id, ordinal`,
};

/** A final run had the schedules that were recorded before its own audit record. */
type Final = { run_id: string; freeze_id: string; basis: string; record: number };
type Scheduled = { employer_id: string; schedules: string; record: number };
type Input = { freeze_id: string; earlier_run_id: string; report: number | null; is_voided: number };
type Frozen = { freeze_id: string; employee_id: string; roster_position: number | null; lines: string };
type Taken = Omit<ModelTaken, 'amount'> & { report: number; amount: string };

export type Records = {
  runs: Final[];
  schedules: Scheduled[];
  inputs: Input[];
  employees: Frozen[];
  facts: ModelFact[];
  versions: ModelVersion[];
  assignments: ModelAssignment[];
  taken: Taken[];
  itemDecisions: ItemDecisionTable[];
  openings: OpeningItemTable[];
};

/** Returns how the lines of a final run differ from the model's, which reads the facts about one employee at a time. */
export function differences(records: Records, runId: string): string[] {
  const final = finalOf(records, runId);
  const { run } = JSON.parse(final.basis) as StoredBasis;
  const world = worldOf(records, final);
  const lines = linesOf(records, final.freeze_id).map(modelLine);
  return [...Map.groupBy(world.facts, ({ employee_id }) => employee_id)].flatMap(([employee, facts]) => {
    const own = new Set(world.versions.filter((version) => version.employee === employee).map(deductionOf));
    const versions = world.versions.filter((version) => own.has(deductionOf(version)));
    const ofEmployee = { ...world, facts, versions };
    const should = modelOf(ofEmployee, runId, run, overridesIn(final.basis)).lines.map(printed);
    const is = lines.filter((line) => line.employee === employee).map(printed);
    return [
      ...is.filter((line) => !should.includes(line)).map((line) => `run ${runId} has ${line}`),
      ...should.filter((line) => !is.includes(line)).map((line) => `run ${runId} should have ${line}`),
    ];
  });
}

function finalOf({ runs }: Records, runId: string): Final {
  return runs.find(({ run_id }) => run_id === runId) as Final;
}

function deductionOf({ deduction }: ModelVersion): string {
  return deduction;
}

/** Returns what was known when a run became final. It has no runs of other employers. */
function worldOf(records: Records, { freeze_id, basis, record }: Final): World {
  const { run, position, decisions, opening_items } = JSON.parse(basis) as StoredBasis;
  const inputs = records.inputs.filter((input) => input.freeze_id === freeze_id);
  const taken = records.taken
    .filter((one) =>
      inputs.some(({ earlier_run_id, report }) => earlier_run_id === one.run && one.report <= (report ?? 0)),
    )
    .map(({ line, ...one }) => ({
      ...one,
      line: line.startsWith('regular ') ? line : keyOf(line),
      amount: cents(one.amount),
    }));
  const isOfEmployer = ({ employer_id }: { employer_id: string }) => employer_id === run.employer_id;
  return {
    ...upTo(records, position),
    taken,
    runs: inputs.map(({ earlier_run_id, is_voided }) => ({
      ...modelRun(records, finalOf(records, earlier_run_id)),
      voided: is_voided === 1,
    })),
    itemDecisions: records.itemDecisions
      .filter(isOfEmployer)
      .filter(({ decision_id }) => decision_id <= decisions)
      .map(modelDecision),
    openings: records.openings
      .filter(isOfEmployer)
      .filter(({ ordinal }) => ordinal <= opening_items)
      .map(modelOpening),
    schedulesOf(employerId) {
      const version = records.schedules.findLast(
        (scheduled) => scheduled.employer_id === employerId && scheduled.record < record,
      );
      return JSON.parse(version?.schedules ?? '[]') as Schedule[];
    },
  };
}

/** The runs of records as they became final, by their freeze. */
const frozenRuns = new WeakMap<Records, Map<string, ModelRun>>();

function modelRun(records: Records, final: Final): ModelRun {
  const runs = frozenRuns.get(records) ?? new Map<string, ModelRun>();
  frozenRuns.set(records, runs);
  const run = runs.get(final.freeze_id) ?? frozenRun(records, final);
  runs.set(final.freeze_id, run);
  return run;
}

function frozenRun(records: Records, final: Final): ModelRun {
  const { run_id, freeze_id, basis } = final;
  const { run, decisions } = JSON.parse(basis) as StoredBasis;
  const frozen = records.employees.filter((row) => row.freeze_id === freeze_id);
  const world = worldOf(records, final);
  const ids = [...new Set(world.facts.map(({ employee_id }) => employee_id))];
  const { calendar, schedules, transfersOf, leavesOf, endOf } = checkOf(world, run, world.runs);
  return {
    ...{ id: run_id, run, voided: false, calendar, schedules, decisions },
    roster: new Set(frozen.filter((row) => row.roster_position !== null).map((row) => row.employee_id)),
    shared: new Set(ids.filter((employee) => isShared(world, run, employee))),
    transfers: mapOf(ids, transfersOf),
    leaves: mapOf(ids, leavesOf),
    ends: mapOf(ids, endOf),
    lines: linesOf(records, freeze_id).map(modelLine),
    overrides: overridesIn(basis),
  };
}

function overridesIn(basis: string): ModelRun['overrides'] {
  const { overrides } = JSON.parse(basis) as StoredBasis;
  return new Map(
    overrides.map(({ employee_id, deduction_id, member_amount, employer_amount, regular_member_amount }) => [
      `${employee_id} ${deduction_id}`,
      {
        member: cents(member_amount),
        employer: cents(employer_amount),
        hadLine: regular_member_amount !== null,
      },
    ]),
  );
}

function modelDecision(row: ItemDecisionTable): ModelItemDecision {
  const { member_amount, employer_amount, amount } = row;
  return {
    employer: row.employer_id,
    employee: row.employee_id,
    item: row.item_id === null ? null : keyOf(row.item_id),
    action: row.action,
    madeFor:
      member_amount === null || employer_amount === null
        ? null
        : { member: cents(member_amount), employer: cents(employer_amount) },
    amount: amount === null ? null : cents(amount),
    until: row.until,
  };
}

/** Returns the model's key of an item id: without its employee. */
function keyOf(id: string): string {
  const [kind, source, _, ...account] = id.split(':').map(decodeURIComponent);
  return [kind, source, ...account].join(' ');
}

function modelOpening(row: OpeningItemTable): ModelOpening {
  return {
    id: row.opening_id,
    employer: row.employer_id,
    employee: row.employee_id,
    deduction: row.deduction_id,
    coverage: row.line_of_coverage,
    taxability: row.taxability,
    amounts: { member: cents(row.member_amount), employer: cents(row.employer_amount) },
    payDate: row.pay_date,
  };
}

function linesOf({ employees }: Records, freezeId: string): LineRecord[] {
  return employees.filter(({ freeze_id }) => freeze_id === freezeId).flatMap(storedRecords);
}

/** Returns what the ledger knew at a position. */
function upTo({ facts, versions, assignments }: Records, limit: number) {
  return {
    assignments: assignments.filter(({ position }) => position <= limit),
    facts: facts.filter(({ position }) => position <= limit),
    versions: versions.filter(({ position }) => position <= limit),
  };
}
