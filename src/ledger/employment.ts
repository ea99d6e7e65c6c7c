/** Computes employment from roster reports, by the rules of "Effective dates" in docs/employment-changes.md#the-roster. Pure. */
import type { RosterFactTable } from '../database/tables.ts';

/** One report by one source. A null attribute was not stated; it never erases one. */
export type RosterFact = Omit<RosterFactTable, 'content_hash'>;

/** One period of employment; both ends are inclusive, and a null end is unknown or open. */
export type Spell = {
  hire_date: string | null;
  termination_date: string | null;
  /** The receipt date of the census that listed the employee after the termination and so canceled it. */
  contradicted_on: string | null;
};

/** One employee with one employer: spells in the order of their beginnings, and reports up to the newest at `position`. */
export type Employment = {
  employer_id: string;
  position: number;
  spells: readonly Spell[];
  reports: readonly RosterFact[];
};

export const DATED = ['pay_frequency', 'pay_group', 'employment_status', 'absent'] as const;
type Dated = (typeof DATED)[number];

/** Returns an employee's employments from all reports in the order of their positions. */
export function employmentsOf(reports: readonly RosterFact[]): Employment[] {
  const [first, ...others] = reports;
  if (first === undefined) return [];
  // Nearly all employees have one employer.
  if (others.every(({ employer_id }) => employer_id === first.employer_id)) return [employmentOf(reports)];
  return [...Map.groupBy(reports, ({ employer_id }) => employer_id).values()].map(employmentOf);
}

function employmentOf(reports: readonly RosterFact[]): Employment {
  const { employer_id, position } = reports.at(-1) as RosterFact;
  return { employer_id, position, spells: spellsOf(reports), reports };
}

/** Returns whether the employer's newest census lacks the employee, and no hire was reported since. */
export function isAbsentNow({ reports }: Employment): boolean {
  return reports.findLast(({ absent }) => absent !== null)?.absent === 1;
}

/** Returns the last spell hired by the day, terminated or not. Null: not hired yet. */
export function spellOn({ spells }: Employment, day: string): Spell | null {
  return spells.findLast(({ hire_date }) => hire_date === null || hire_date <= day) ?? null;
}

/** Returns whether a spell contains the day and no census in force on the day lacks the employee. */
export function isActive(employment: Employment, day: string): boolean {
  return isInSpell(employment, day) && valueOn(employment, 'absent', day) !== 1;
}

export function isInSpell(employment: Employment, day: string): boolean {
  const spell = spellOn(employment, day);
  return spell !== null && (spell.termination_date === null || spell.termination_date >= day);
}

/** Returns whether the employee is active on a day or, by what is reported, on a later one. */
export function isActiveFrom(employment: Employment, day: string): boolean {
  const hires = employment.spells.map(({ hire_date }) => hire_date ?? day);
  const days = [day, ...hires, ...employment.reports.map(effectiveOn)];
  return days.some((later) => later >= day && isActive(employment, later));
}

/** Returns the employments active on a day. Two that share one day only are a transfer: the later one is meant to follow. */
export function jobsOn(employments: readonly Employment[], day: string): Employment[] {
  const active = employments.filter((employment) => isActive(employment, day));
  if (active.length < 2) return active;
  const spells = active.map((employment) => spellOn(employment, day));
  const begun = spells
    .map((spell) => spell?.hire_date ?? '')
    .sort()
    .at(-1) as string;
  const ended = spells.flatMap((spell) => spell?.termination_date ?? []).sort()[0];
  if (ended === undefined || ended > begun) return active;
  const left = active.filter((_, index) => spells[index]?.termination_date === ended);
  if (left.length < active.length) return left;
  // The later job lasts for that day only.
  const earlier = active.filter((_, index) => (spells[index]?.hire_date ?? '') !== begun);
  return earlier.length > 0 ? earlier : active;
}

/** Returns the employers where the employee is active on a day, else the one left last. */
export function employersOn(employments: readonly Employment[], day: string): string[] {
  const active = employments.filter((employment) => isActive(employment, day));
  const last = active.length === 0 ? leftLast(employments, day) : undefined;
  return (last === undefined ? active : [last]).map(({ employer_id }) => employer_id);
}

/** Returns the only employer of `employersOn`. Null with several, and for an employee whom no report names. */
export function employerOf(employments: readonly Employment[], day: string): string | null {
  const [employer = null, another] = employersOn(employments, day);
  return another === undefined ? employer : null;
}

/** Returns the employment that ended last as of a day or, if none has ended, the employment with the newest report. */
export function leftLast(employments: readonly Employment[], day: string): Employment | undefined {
  const order = employments.toSorted((one, other) => {
    const [left, leftOther] = [leftOn(one, day), leftOn(other, day)];
    return left === leftOther ? one.position - other.position : left < leftOther ? -1 : 1;
  });
  return order.at(-1);
}

/** Returns the date of the termination, or else of the census that lacks the employee; empty before the hire. */
function leftOn(employment: Employment, day: string): string {
  const spell = spellOn(employment, day);
  if (spell === null) return '';
  const absent = employment.reports.findLast((report) => report.absent === 1 && effectiveOn(report) <= day);
  return spell.termination_date ?? (absent === undefined ? '' : effectiveOn(absent));
}

export function effectiveOn(report: RosterFact): string {
  return report.effective_on ?? report.received_on;
}

/**
 * Returns the value of an attribute in force on a day: among the facts effective by then the greatest by (later of
 * effective date and receipt date, position); before the first one, the earliest by this order.
 */
export function valueOn<A extends Dated>(
  { reports }: Pick<Employment, 'reports'>,
  attribute: A,
  day: string,
): RosterFact[A] {
  let earliest: RosterFact | null = null;
  let greatest: RosterFact | null = null;
  for (const fact of reports) {
    if (fact[attribute] === null) continue;
    // Facts are in the order of their positions: of two with one date the later one is greater.
    if (earliest === null || orderDate(fact) < orderDate(earliest)) earliest = fact;
    if (effectiveOn(fact) > day) continue;
    if (greatest === null || orderDate(fact) >= orderDate(greatest)) greatest = fact;
  }
  return ((greatest ?? earliest)?.[attribute] ?? null) as RosterFact[A];
}

/** Returns the first day since which an attribute has the value of a day without interruption. */
export function valueSince(
  employment: Pick<Employment, 'reports'>,
  attribute: Dated,
  day: string,
): string | null {
  const value = valueOn(employment, attribute, day);
  const facts = employment.reports.filter((report) => report[attribute] !== null);
  let since: string | null = null;
  for (const effective of facts.map(effectiveOn).sort().reverse()) {
    if (effective > day) continue;
    if (valueOn(employment, attribute, effective) !== value) break;
    since = effective;
  }
  return since;
}

function orderDate(fact: RosterFact): string {
  const [effective, received] = [effectiveOn(fact), fact.received_on];
  return effective > received ? effective : received;
}

/** Hire and termination dates are not dated facts: the latest report for a spell applies to every day. */
function spellsOf(reports: readonly RosterFact[]): readonly Spell[] {
  return reports.reduce<readonly Spell[]>(withReport, []);
}

/** Returns the same array if the report changes no spell. */
function withReport(spells: readonly Spell[], report: RosterFact): readonly Spell[] {
  const { hire_date, termination_date } = report;
  const isListed = report.source === 'census' && report.absent === 0;
  const hired =
    hire_date !== null || (isListed && spells.length === 0) ? withHire(spells, hire_date) : spells;
  if (termination_date !== null) return withTermination(hired, termination_date);
  return isListed ? withoutPastTermination(hired, report.received_on) : hired;
}

function withHire(spells: readonly Spell[], hire_date: string | null): readonly Spell[] {
  // HR systems keep the original hire date of an employee who was hired again.
  if (spells.some((spell) => spell.hire_date === hire_date)) return spells;
  const index = spells.findIndex(
    ({ termination_date }) => termination_date === null || (hire_date ?? '') <= termination_date,
  );
  const spell = spells[index];
  if (spell === undefined) return [...spells, { hire_date, termination_date: null, contradicted_on: null }];
  return spells.with(index, { ...spell, hire_date });
}

function withTermination(spells: readonly Spell[], termination_date: string): readonly Spell[] {
  const index = spells.findLastIndex(({ hire_date }) => hire_date === null || hire_date <= termination_date);
  const spell = spells[index];
  if (spell?.termination_date === termination_date) return spells;
  const ended = { hire_date: spell?.hire_date ?? null, termination_date, contradicted_on: null };
  // Without a spell hired by then, it ends an earlier one that no report named.
  return spell === undefined ? [ended, ...spells] : spells.with(index, ended);
}

/** A census lists active employees, so it contradicts a termination before its receipt date. */
function withoutPastTermination(spells: readonly Spell[], receiptDate: string): readonly Spell[] {
  const last = spells.at(-1);
  if (last === undefined || last.termination_date === null || last.termination_date >= receiptDate)
    return spells;
  return [...spells.slice(0, -1), { ...last, termination_date: null, contradicted_on: receiptDate }];
}

/** Returns whether a census report changes no value on any day. `reports`: the earlier ones of the employment. */
export function isRepeated(reports: readonly RosterFact[], report: RosterFact): boolean {
  const spells = spellsOf(reports);
  return (
    withReport(spells, report) === spells &&
    DATED.every((attribute) => isRepeatedFact(reports, report, attribute))
  );
}

/**
 * A fact is repeated if the census fact before it has the same value and effective date, and its value is in force on each day
 * on which this fact could be the greatest.
 */
function isRepeatedFact(reports: readonly RosterFact[], report: RosterFact, attribute: Dated): boolean {
  const value = report[attribute];
  if (value === null) return true;
  const facts = reports.filter((earlier) => earlier[attribute] !== null);
  const before = facts.findLast(({ source }) => source === 'census');
  if (before?.[attribute] !== value || before.effective_on !== report.effective_on) return false;
  if (facts.at(-1)?.[attribute] !== value) return false;
  const [from, until] = [effectiveOn(report), orderDate(report)];
  const days = [from, until, ...facts.map(effectiveOn)].filter((day) => day >= from && day <= until);
  return days.every((day) => valueOn({ reports }, attribute, day) === value);
}
