import type { Db } from '../database/tables.ts';
import { findRun, type StoredRun } from '../payroll/runs/store.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';

/** The stored run of an id. Throws when there is none. */
export async function storedRun(db: Db, runId: string): Promise<StoredRun> {
  return (await findRun(db, runId)) ?? fail(unknownRun(runId));
}

export function unknownRun(runId: string): CommandFailed {
  return new CommandFailed(
    `there is no run ${printable(runId)}: "benefits-sidecar run list" shows those there are`,
  );
}

function fail(error: Error): never {
  throw error;
}
