import type { Trx } from '../database/tables.ts';
import { employmentsOf } from '../ledger/employment.ts';
import { lockLedger } from '../ledger/position.ts';
import { type RosterFact, recordTaught, reportOf, rosterOf, type Taught } from '../ledger/roster.ts';
import type { Change } from './change.ts';
import { factsOf } from './facts.ts';

/** Records in the roster what changes state, in their order: a later one sees what an earlier one reported. */
export async function learnChanges(
  trx: Trx,
  changes: readonly { readonly changeId: string; readonly change: Change }[],
  now: string,
): Promise<void> {
  let position = await lockLedger(trx);
  const known = await rosterOf(trx, [...new Set(changes.map(({ change }) => change.body.employee_id))]);
  const taught: Taught[] = [];
  for (const { changeId, change } of changes) {
    if (change.kind === 'demographic') continue;
    const { employee_id } = change.body;
    const before = known.get(employee_id) ?? [];
    const source = { source: change.kind, source_id: changeId };
    const facts = factsOf(change, employmentsOf(before), now.slice(0, 'YYYY-MM-DD'.length));
    const reports = facts.map((fact): RosterFact => {
      position += 1;
      return reportOf(fact, source, position, now);
    });
    known.set(employee_id, [...before, ...reports]);
    taught.push(...facts.map((fact) => ({ fact, source })));
  }
  await recordTaught(trx, taught, now);
}
