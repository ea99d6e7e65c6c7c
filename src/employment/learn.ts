import type { Trx } from '../database/tables.ts';
import { type NewFact, recordTaught, rosterOf, type Taught } from '../ledger/roster.ts';
import type { Change } from './change.ts';
import { factsOf, inOrder } from './facts.ts';

/** Teaches the roster what some changes say, in their order: a later one builds on what an earlier one taught. */
export async function learnChanges(
  trx: Trx,
  changes: readonly { readonly changeId: string; readonly change: Change }[],
  now: string,
): Promise<void> {
  const known = await knownOf(
    trx,
    changes.map(({ change }) => change.body.employee_id),
  );
  const taught: Taught[] = [];
  for (const { changeId, change } of changes) {
    if (change.kind === 'demographic') continue;
    const { employee_id } = change.body;
    const before = known.get(employee_id) ?? [];
    const facts = factsOf(change, before, now.slice(0, 'YYYY-MM-DD'.length));
    const employers = new Set(facts.map((fact) => fact.employer_id));
    known.set(employee_id, [...before.filter((fact) => !employers.has(fact.employer_id)), ...facts]);
    taught.push(...facts.map((fact) => ({ fact, source: { source: change.kind, source_id: changeId } })));
  }
  await recordTaught(trx, taught, now);
}

async function knownOf(trx: Trx, employeeIds: readonly string[]): Promise<Map<string, NewFact[]>> {
  const roster = await rosterOf(trx, [...new Set(employeeIds)]);
  return new Map([...roster].map(([id, facts]) => [id, inOrder(facts)]));
}
