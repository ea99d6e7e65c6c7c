/**
 * Derives roster facts from employment changes, and checks them. Only a new hire names its employer; the other changes
 * are about the employer where the employee is active on the day from which they count.
 */
import { isTime, pagesOf, type Verifying } from '../database/difference.ts';
import type { Db, Trx } from '../database/tables.ts';
import {
  type Employment,
  employersOn,
  employmentsOf,
  isActive,
  isInSpell,
  leftLast,
  type RosterFact,
} from '../ledger/employment.ts';
import { appendReports, hashedReports, type NewFact, type Roster, reportOf } from '../ledger/roster.ts';
import { fingerprintsOf } from '../outbox/requests.ts';
import { contentHash } from '../security/facts.ts';
import type { Change } from './change.ts';

/** Returns the facts that a change states. `today` is the day of acceptance. */
export function factsOf(change: Change, known: readonly Employment[], today: string): NewFact[] {
  const { effectiveOn: effective_on, payGroup: pay_group } = change;
  switch (change.kind) {
    case 'new-hire': {
      const { employee_id, employer_id, hire_date, employment_status } = change.body;
      const { termination_date = null, pay_frequency = null } = change.body;
      const hire = {
        employee_id,
        employer_id,
        hire_date,
        termination_date,
        employment_status,
        pay_frequency,
        pay_group,
      };
      return [{ ...hire, effective_on, absent: 0 }];
    }
    case 'termination': {
      const { employee_id, termination_date } = change.body;
      const stated = { employee_id, termination_date, effective_on };
      return employedOn(known, termination_date).map(({ employer_id }) => ({ ...stated, employer_id }));
    }
    case 'compensation-change': {
      const { employee_id, pay_frequency = null, employment_status = null, pay_rate } = change.body;
      if (pay_frequency === null && employment_status === null && pay_group === null) return [];
      const from = effective_on ?? pay_rate?.effective_start ?? null;
      const stated = { employee_id, pay_frequency, pay_group, employment_status, effective_on: from };
      return employedOn(known, from ?? today).map(({ employer_id }) => ({ ...stated, employer_id }));
    }
    case 'demographic':
      return [];
  }
}

/** Returns the employments active on the day, else those a census contradicts, else the one left last. */
function employedOn(known: readonly Employment[], day: string): readonly Employment[] {
  const active = known.filter((employment) => isActive(employment, day));
  if (active.length > 0) return active;
  const inSpell = known.filter((employment) => isInSpell(employment, day));
  if (inSpell.length > 0) return inSpell;
  const last = leftLast(known, day);
  return last === undefined ? [] : [last];
}

/**
 * Collects the facts of changes, in order: a later change sees what an earlier one reported. `ledger`: its newest position, and
 * the reports of the employees, read under its lock.
 */
export function createChangeFacts(
  ledger: { readonly roster: Roster; readonly position: number },
  now: string,
  today: string,
) {
  let { position } = ledger;
  const known = new Map(ledger.roster);
  const reports: RosterFact[] = [];
  const reportsOf = (employeeId: string) => known.get(employeeId) ?? [];
  return {
    /** Returns the reports of an employee, with those that were added. */
    reportsOf,
    /** Adds the facts of a change and returns the employers that it is about. `limit`: a limited token reports only about these. */
    add(changeId: string, change: Change, limit: readonly string[] | null): readonly string[] {
      const { employee_id } = change.body;
      const before = reportsOf(employee_id);
      const employments = employmentsOf(before).filter(
        ({ employer_id }) => limit === null || limit.includes(employer_id),
      );
      const facts = factsOf(change, employments, today);
      // A demographic change states none.
      if (change.kind !== 'demographic') {
        const source = { source: change.kind, source_id: changeId };
        const appended = facts.map((fact) => {
          position += 1;
          return reportOf(fact, source, position, { recorded_at: now, received_on: today });
        });
        known.set(employee_id, [...before, ...appended]);
        reports.push(...appended);
      }
      const stated = [...new Set(facts.map(({ employer_id }) => employer_id))];
      return stated.length > 0 ? stated : employersOn(employments, today);
    },
    /** Records what was added in the roster. */
    append: (trx: Trx) => appendReports(trx, reports),
  };
}

const VERIFIED_AT_ONCE = 2_000;

/** Checks roster facts against their hashes and requests. */
export async function verifyFacts(db: Db, until: number, on: Verifying): Promise<void> {
  const page = (after: number) => hashedReports(db, after, until, VERIFIED_AT_ONCE);
  for await (const facts of pagesOf(on, 0, VERIFIED_AT_ONCE, page, (fact) => fact.position)) {
    const ids = facts.map((fact) => fact.source_id);
    const requests = await fingerprintsOf(db, ids);
    for (const { content_hash, ...fact } of facts) {
      const { position, source, source_id, employee_id, recorded_at } = fact;
      const wrong = (field: string, rule: string) => on.report('roster_facts', position, field, rule);
      if (contentHash([fact]) !== content_hash) wrong('content_hash', 'is not the hash of the other columns');
      const request = requests.get(source_id);
      if (!isTime(recorded_at)) wrong('recorded_at', 'is not a time');
      else if (request === undefined) {
        if (source !== 'census') wrong('source_id', 'there is no such request');
      } else if (source !== request.kind || source === 'census') {
        wrong('source', 'is not the kind of the request that it names');
      } else if (request.subject_id !== employee_id) {
        wrong('employee_id', 'is not the employee of the request that it names');
      } else if (recorded_at !== request.created_at) {
        wrong('recorded_at', 'is not when its request was accepted');
      }
    }
  }
}
