/** A run of the payroll model: its employees, their regular lines, and what it takes of their open items. */
import type { Run } from '../../../src/payroll/records/body.ts';
import { isShared, type ModelRun, type Pair, regularLines, statusOf, type World } from './model.ts';
import { takenItems } from './model-taking.ts';

/** Returns the employees of a run and its lines, in no particular order. */
export function modelOf(world: World, id: string, run: Run, overrides: ReadonlyMap<string, Pair>) {
  const employees = [...new Set(world.facts.map((fact) => fact.employee_id))].filter(
    (employee) => run.kind === 'regular' || run.employee_ids?.includes(employee),
  );
  const runs = world.runs.filter((one) => one.id !== id && one.run.employer_id === run.employer_id);
  const roster = new Set(employees.filter((employee) => statusOf(world, run, employee) === 'in'));
  const shared = new Set(employees.filter((employee) => isShared(world, run, employee)));
  const lines = employees.flatMap((employee) => {
    const regular = regularLines(world, run, runs, employee, overrides);
    if (run.kind === 'regular' && !roster.has(employee)) return regular;
    // A missed check that the run itself takes is not missed.
    const now: ModelRun = { id, run, voided: false, roster, shared, lines: regular, overrides, decisions: 0 };
    return [...regular, ...takenItems({ world, run, runs, now, employee }, regular)];
  });
  return { roster, shared, lines };
}
