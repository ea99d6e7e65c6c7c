/**
 * What the roster learns from employment changes. Pure. A change carries no employer but a new hire's, and none has
 * a day from which it counts in the roster: it counts from its position on.
 */
import { isActive, type RosterFact } from '../ledger/employer-of.ts';
import type { NewFact } from '../ledger/roster.ts';
import type { Change } from './change.ts';

type Hired = Extract<Change, { kind: 'new-hire' }>['body'];

/**
 * The facts that a change teaches. `known`: the newest fact of the employee with every employer, in the order of their
 * positions. `today`: the day (UTC) on which the change is accepted.
 */
export function factsOf(change: Change, known: readonly NewFact[], today: string): NewFact[] {
  switch (change.kind) {
    case 'new-hire': {
      const { employer_id } = change.body;
      return [hired(change.body, known.find((fact) => fact.employer_id === employer_id) ?? null)];
    }
    case 'termination': {
      const { termination_date } = change.body;
      return employedOn(known, termination_date)
        .filter((fact) => !endsAnEarlierSpell(termination_date, fact))
        .map((fact) => ({ ...fact, termination_date }));
    }
    case 'compensation-change': {
      const { pay_frequency, employment_status } = change.body;
      return employedOn(known, today).map((fact) => ({
        ...fact,
        ...(pay_frequency !== undefined && { pay_frequency }),
        ...(employment_status !== undefined && { employment_status }),
      }));
    }
    case 'demographic':
      return [];
  }
}

/**
 * A hire on the day that is known already is the same spell, reported again: what the report leaves out stays. On any
 * other day it begins a new spell, of which nothing else is known; a termination before that day stays, as the end of
 * the spell before it.
 */
function hired(body: Hired, known: NewFact | null): NewFact {
  const { employee_id, employer_id, hire_date, employment_status } = body;
  const same = known?.hire_date === hire_date ? known : null;
  const ended = known?.termination_date ?? null;
  const earlierEnd = ended !== null && ended < hire_date ? ended : null;
  return {
    employee_id,
    employer_id,
    hire_date,
    termination_date: body.termination_date ?? same?.termination_date ?? earlierEnd,
    employment_status,
    pay_frequency: body.pay_frequency ?? same?.pay_frequency ?? null,
    pay_group: same?.pay_group ?? null,
    absent: 0,
  };
}

/**
 * With which employers a change is about: where the employee is active on the day; else where the dates would have it
 * so but for a census that lacks the employee; else the newest one known.
 */
function employedOn(known: readonly NewFact[], day: string): readonly NewFact[] {
  const active = known.filter((fact) => isActive(fact, day));
  if (active.length > 0) return active;
  const absent = known.filter((fact) => isActive({ ...fact, absent: 0 }, day));
  return absent.length > 0 ? absent : known.slice(-1);
}

/** A late report of how an earlier spell ended must not undo the end of the present one. */
function endsAnEarlierSpell(termination: string, { hire_date, termination_date }: NewFact): boolean {
  return (
    hire_date !== null &&
    termination < hire_date &&
    termination_date !== null &&
    termination_date >= hire_date
  );
}

/** The facts in the order of their positions, which is that of `factsOf`. */
export function inOrder(facts: readonly RosterFact[]): NewFact[] {
  return facts
    .toSorted((one, other) => one.position - other.position)
    .map(({ position: _, ...fact }): NewFact => fact);
}
