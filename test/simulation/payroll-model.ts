/** Compares finalized runs with the payroll model, which computes them from the facts that the ledger had at their positions. */
import type { LineRecord } from '../../src/payroll/calculation/line.ts';
import type { StoredBasis } from '../../src/payroll/records/basis.ts';
import {
  isShared,
  type ModelAssignment,
  type ModelDecision,
  type ModelFact,
  type ModelRun,
  type ModelVersion,
  modelOf,
  printed,
} from '../payroll/compute/model.ts';
import { modelLine } from '../payroll/compute/model-lines.ts';
import type { Query } from './machine.ts';
import type { Simulation } from './simulation.ts';

type Final = { run_id: string; freeze_id: string; basis: string };
type Frozen = { employee_id: string; roster_position: number | null; lines: string };
type Compared = { employee: string; lines: LineRecord[] };

/** A final run never changes, and `verify` checks that. So each is compared once. */
const compared = new WeakMap<Simulation, Set<string>>();

/** Returns the lines of finalized runs that differ from the model's. */
export function agreesWithModel(simulation: Simulation): string[] {
  const { query } = simulation.machine;
  const done = compared.get(simulation) ?? new Set();
  compared.set(simulation, done);
  const wrong: string[] = [];
  for (const run of query<Final>("select run_id, freeze_id, basis from payroll_runs where state <> 'open'")) {
    if (done.has(run.run_id)) continue;
    done.add(run.run_id);
    wrong.push(...differences(query, run));
    simulation.count('runs compared with the model');
  }
  return wrong;
}

function differences(query: Query, { run_id, freeze_id, basis }: Final): string[] {
  const { run, position, schedules } = JSON.parse(basis) as StoredBasis;
  const inputs = query<{ run_id: string; freeze_id: string; basis: string; is_voided: number }>(
    `select run_id, payroll_runs.freeze_id, basis, is_voided from run_inputs
     join payroll_runs on run_id = earlier_run_id where run_inputs.freeze_id = ?`,
    freeze_id,
  );
  const earlier = inputs.map((input) => ({ ...input, frozen: frozenOf(query, input.freeze_id) }));
  const wrong: string[] = [];
  for (const { employee, lines } of employeesOf(query, freeze_id, position)) {
    const facts = factsOf(query, employee, position);
    const runs = earlier.map(({ run_id: id, basis: stored, is_voided, frozen }): ModelRun => {
      const { run: earlierRun, position: known } = JSON.parse(stored) as StoredBasis;
      const factsThen = facts.facts.filter((fact) => fact.position <= known);
      const own = frozen.filter(({ employee_id }) => employee_id === employee);
      return {
        ...{ id, run: earlierRun, voided: is_voided === 1 },
        roster: new Set(own.flatMap(({ roster_position }) => (roster_position === null ? [] : [employee]))),
        shared: new Set(isShared({ facts: factsThen }, earlierRun, employee) ? [employee] : []),
        lines: own.flatMap((row) => linesOf(row).map(modelLine)),
      };
    });
    // The model has no arrears.
    if (lines.some(isArrears) || earlier.some(({ frozen }) => hasArrears(frozen, employee))) continue;
    const world = { ...facts, runs, schedules: schedules.length };
    const should = modelOf(world, run_id, run).lines.map(printed).sort();
    const is = lines.map((line) => printed(modelLine(line))).sort();
    const [extra, missing] = [
      is.filter((one) => !should.includes(one)),
      should.filter((one) => !is.includes(one)),
    ];
    if (extra.length + missing.length === 0) continue;
    wrong.push(`${employee} in run ${run_id} has ${extra.join('; ')} and should have ${missing.join('; ')}`);
  }
  return wrong;
}

/** Returns every employee with a fact by the position, with the lines of the run. */
function employeesOf(query: Query, freezeId: string, position: number): Compared[] {
  const frozen = new Map(frozenOf(query, freezeId).map((row) => [row.employee_id, linesOf(row)]));
  const known = query<{ employee_id: string }>(
    'select distinct employee_id from roster_facts where position <= ? order by employee_id',
    position,
  );
  return known.map(({ employee_id }) => ({ employee: employee_id, lines: frozen.get(employee_id) ?? [] }));
}

function frozenOf(query: Query, freezeId: string): Frozen[] {
  return query('select employee_id, roster_position, lines from run_employees where freeze_id = ?', freezeId);
}

function linesOf({ lines }: Frozen): LineRecord[] {
  return JSON.parse(lines) as LineRecord[];
}

function hasArrears(frozen: readonly Frozen[], employee: string): boolean {
  return frozen.some((row) => row.employee_id === employee && linesOf(row).some(isArrears));
}

function isArrears({ kind }: LineRecord): boolean {
  return kind === 'arrears';
}

/** Returns the facts about an employee, and the versions of the deductions that ever named the employee. */
function factsOf(query: Query, employee: string, position: number) {
  const facts = query<ModelFact>(
    `select position, source, substr(recorded_at, 1, 10) as received, employee_id, employer_id, hire_date,
       termination_date, pay_frequency, pay_group, absent, effective_on
     from roster_facts where employee_id = ? and position <= ? order by position`,
    ...[employee, position],
  );
  const versions = query<ModelVersion>(
    `select position, deduction_id as deduction, employee_id as employee, line_of_coverage as coverage,
       coverage_type as coverageType, taxability, period, member_contribution as member,
       employer_contribution as employer, starts_on as start, ends_on as end, event_time as sent
     from deduction_versions where position <= ? and deduction_id in
       (select deduction_id from deduction_versions where employee_id = ? and position <= ?) order by position`,
    ...[position, employee, position],
  );
  const decisions = query<ModelDecision>(
    'select position, version_position as "of", decision from start_decisions where position <= ? order by position',
    position,
  );
  const assignments = query<ModelAssignment>(
    `select position, deduction_id as deduction, employer_id as employer, effective_on as "from"
     from deduction_assignments where position <= ? order by position`,
    position,
  );
  return { facts, versions, decisions, assignments };
}
