/**
 * Derives roster facts from employment changes. Only a new hire names its employer; the other changes are
 * about the employer where the employee is active on the day from which they count.
 */
import type { RosterFactTable, Trx } from '../database/tables.ts';
import { type Employment, employmentsOf, isActive, isInSpell, leftLast } from '../ledger/employment.ts';
import { lockLedger } from '../ledger/position.ts';
import { appendReports, type NewFact, reportOf, rosterOf } from '../ledger/roster.ts';
import type { Change } from './change.ts';

/** Returns the facts that a change states. `today` is the UTC date of acceptance. */
export function factsOf(change: Change, known: readonly Employment[], today: string): NewFact[] {
  const { effectiveOn } = change;
  switch (change.kind) {
    case 'new-hire': {
      const { employee_id, employer_id, hire_date, termination_date, employment_status, pay_frequency } =
        change.body;
      return [
        {
          ...{ employee_id, employer_id, hire_date, employment_status, absent: 0 as const },
          ...(termination_date !== undefined && { termination_date }),
          ...(pay_frequency !== undefined && { pay_frequency }),
          ...(effectiveOn !== null && { effective_on: effectiveOn }),
        },
      ];
    }
    case 'termination': {
      const { employee_id, termination_date } = change.body;
      return employedOn(known, termination_date).map(({ employer_id }) => ({
        employee_id,
        employer_id,
        termination_date,
        ...(effectiveOn !== null && { effective_on: effectiveOn }),
      }));
    }
    case 'compensation-change': {
      const { employee_id, pay_frequency, employment_status, pay_rate } = change.body;
      if (pay_frequency === undefined && employment_status === undefined) return [];
      const effective_on = effectiveOn ?? pay_rate?.effective_start;
      return employedOn(known, effective_on ?? today).map(({ employer_id }) => ({
        ...{ employee_id, employer_id },
        ...(pay_frequency !== undefined && { pay_frequency }),
        ...(employment_status !== undefined && { employment_status }),
        ...(effective_on !== undefined && { effective_on }),
      }));
    }
    case 'demographic':
      return [];
  }
}

/** Returns the employments active on the day, else those a census contradicts, else the one left last. */
function employedOn(known: readonly Employment[], day: string): readonly Employment[] {
  const active = known.filter((one) => isActive(one, day));
  if (active.length > 0) return active;
  const inSpell = known.filter((one) => isInSpell(one, day));
  if (inSpell.length > 0) return inSpell;
  const last = leftLast(known, day);
  return last === undefined ? [] : [last];
}

/** Records the facts of changes in the roster, in order: a later change sees what an earlier one reported. */
export async function recordChangeFacts(
  trx: Trx,
  changes: readonly { readonly changeId: string; readonly change: Change }[],
  now: string,
): Promise<void> {
  let position = await lockLedger(trx);
  const known = await rosterOf(trx, [...new Set(changes.map(({ change }) => change.body.employee_id))]);
  const reports: RosterFactTable[] = [];
  for (const { changeId, change } of changes) {
    if (change.kind === 'demographic') continue;
    const { employee_id } = change.body;
    const before = known.get(employee_id) ?? [];
    const source = { source: change.kind, source_id: changeId };
    const facts = factsOf(change, employmentsOf(before), now.slice(0, 'YYYY-MM-DD'.length));
    const appended = facts.map((fact) => {
      position += 1;
      return reportOf(fact, source, position, now);
    });
    known.set(employee_id, [...before, ...appended]);
    reports.push(...appended);
  }
  await appendReports(trx, reports);
}
