/** Runs of the payroll model: who is in them, what they freeze, and their lines. */
import type { Run } from '../../../src/payroll/records/body.ts';
import { checkOf, isShared, type ModelRun, mapOf, statusOf, type World } from './model.ts';
import { regularLines } from './model-regular.ts';
import { takenItems } from './model-taking.ts';

/** Computes a run: its employees, what it freezes, and its lines, in no particular order. */
export function modelOf(world: World, id: string, run: Run, overrides: ModelRun['overrides']): ModelRun {
  const employees = [...new Set(world.facts.map((fact) => fact.employee_id))].filter(
    (employee) => run.kind === 'regular' || run.employee_ids?.includes(employee),
  );
  const runs = world.runs.filter((one) => one.id !== id && one.run.employer_id === run.employer_id);
  const check = checkOf(world, run, runs);
  const roster = new Set(employees.filter((employee) => statusOf(world, check, employee) === 'in'));
  const frozen: ModelRun = {
    ...{ id, run, voided: false, roster, overrides, lines: [], decisions: world.itemDecisions.length },
    ...{ calendar: check.calendar, schedules: check.schedules },
    shared: new Set(employees.filter((employee) => isShared(world, run, employee))),
    transfers: mapOf(employees, check.transfersOf),
    leaves: mapOf(employees, check.leavesOf),
    ends: mapOf(employees, check.endOf),
  };
  const lines = employees.flatMap((employee) => {
    const regular = regularLines(world, check, runs, employee, overrides);
    if (run.kind === 'regular' && !roster.has(employee)) return regular;
    // A missed check that the run itself takes is not missed.
    const now: ModelRun = { ...frozen, lines: regular };
    return [...regular, ...takenItems({ world, run, runs, now, employee }, regular)];
  });
  return { ...frozen, lines };
}
