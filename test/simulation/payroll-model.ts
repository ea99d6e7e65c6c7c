/** Compares finalized runs with the payroll model, which computes them from the facts that the ledger had at their positions. */
import { differences, RECORDS, type Records } from '../payroll/compute/model-records.ts';
import type { Simulation } from './simulation.ts';

/** A final run never changes, and `verify` checks that. So each is compared once. */
const compared = new WeakMap<Simulation, Set<string>>();

/** Returns the lines of finalized runs that differ from the model's. */
export function agreesWithModel(simulation: Simulation): string[] {
  const { query } = simulation.machine;
  const done = compared.get(simulation) ?? new Set();
  compared.set(simulation, done);
  const fresh = query<{ run_id: string }>("select run_id from payroll_runs where state <> 'open'")
    .map(({ run_id }) => run_id)
    .filter((id) => !done.has(id));
  if (fresh.length === 0) return [];
  const read = Object.entries(RECORDS).map(([name, sql]) => [name, query(sql)]);
  const records = Object.fromEntries(read) as Records;
  return fresh.flatMap((run) => {
    done.add(run);
    simulation.count('runs compared with the model');
    return differences(records, run);
  });
}
