/** Worlds of employees, deductions and runs, written to a real ledger and to the model. */
import { deepStrictEqual } from 'node:assert/strict';
import type { COVERAGE_TYPES } from '../../../src/contract/deduction.ts';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import type { IncomingDeduction } from '../../../src/ledger/fold.ts';
import { type FactSource, type NewFact, recordFacts } from '../../../src/ledger/roster.ts';
import { runUnder } from '../../../src/payroll/compute/basis.ts';
import type { OpenItem } from '../../../src/payroll/compute/open-items.ts';
import { assignDeduction } from '../../../src/payroll/lifecycle/assign.ts';
import { deleteOpenRun, overrideAmounts } from '../../../src/payroll/lifecycle/overrides.ts';
import { type Run, type RunBody, runOf } from '../../../src/payroll/records/body.ts';
import { acting } from '../../support/audit.ts';
import {
  daysAfter,
  decide,
  employment,
  event,
  finalize,
  linesOf,
  put,
  send,
  setSchedules,
  taken,
  voided,
} from '../../support/payroll.ts';
import fc from '../../support/seeded.ts';
import { dollars } from '../calculation/oracle.ts';
import { every } from '../calendars.ts';
import {
  ambiguousVersions,
  lineKeyOf,
  type ModelAssignment,
  type ModelDecision,
  type ModelFact,
  type ModelLine,
  type ModelRun,
  type ModelTaken,
  type ModelVersion,
  printed,
  refusalOf,
} from './model.ts';
import {
  decisionOf,
  listedItems,
  type Opening,
  type Overriding,
  printedItem,
  printedOpenItem,
  type Settling,
  storeDecision,
  storedItems,
  storeOpening,
} from './model-item-steps.ts';
import type { ModelItemDecision, ModelOpening, StandingItem } from './model-items.ts';
import { modelLine } from './model-lines.ts';
import { modelOf } from './model-run.ts';

export const often = <T>(value: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { arbitrary: fc.constant(value), weight: 4 },
    { arbitrary: fc.constantFrom(...others), weight: 1 },
  );

/** A value in one of four cases, otherwise null. */
export const sometimes = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> =>
  fc.oneof({ arbitrary: fc.constant(null), weight: 3 }, { arbitrary: value, weight: 1 });

export type Message = Pick<
  IncomingDeduction['deduction'],
  'line_of_coverage' | 'member_contribution' | 'employer_contribution' | 'period' | 'taxability'
> & {
  coverage_type: (typeof COVERAGE_TYPES)[number] | null;
  deduction: string;
  employee: string;
  start: string | null;
  end: string | null;
  sent: string;
};

/** A later message about a deduction: a moved start, or other contents. */
export const correction = fc.record({
  which: fc.nat({ max: 99 }),
  /** The number of days before the start at which it is sent; negative after it. */
  ahead: fc.integer({ min: -10, max: 30 }),
  /** The number of days by which the start moves. */
  later: fc.constantFrom(0, 7, 14, 31, 60),
  changes: fc.constantFrom<Partial<Message>>(
    {},
    {},
    { member_contribution: '60' },
    { taxability: 'post_tax' },
    { line_of_coverage: 'vision' },
    { coverage_type: 'member_family' },
    { end: '2026-03-31' },
  ),
});
type Correction = typeof correction extends fc.Arbitrary<infer C> ? C : never;

type Fact = FactSource['source'] extends infer S
  ? { source: S } & Omit<NewFact, 'employee_id' | 'employer_id'>
  : never;

export type Report = { employee: string; employer: string; passed: number; fact: Fact };

export type Step =
  | { does: 'send'; message: Message }
  | { does: 'correct'; correction: Correction }
  | { does: 'learn'; report: Report }
  | { does: 'decide'; which: number; decision: 'keep' | 'drop' }
  | { does: 'assign'; which: number; employer: string; from: string | null }
  | { does: 'run'; body: RunBody; override?: Overriding | null }
  | Opening
  | Settling
  | { does: 'void'; which: number }
  /** Payroll takes another amount of a line: less, nothing, or too much. */
  | { does: 'take'; which: number; line: number; part: -1 | 0 | 1 | 2 | 3 }
  /** The reports that follow are received on the day. */
  | { does: 'wait'; day: string };

export const shortPay = fc.record({
  does: fc.constant('take' as const),
  which: fc.nat({ max: 9 }),
  line: fc.nat({ max: 99 }),
  part: fc.constantFrom<-1 | 0 | 1 | 2 | 3>(-1, 0, 1, 2, 3),
});

/** A world with unique ids, so that many share a database. */
export class SmallWorld {
  readonly facts: ModelFact[] = [];
  readonly versions: ModelVersion[] = [];
  readonly decisions: ModelDecision[] = [];
  readonly assignments: ModelAssignment[] = [];
  readonly runs: ModelRun[] = [];
  readonly taken: ModelTaken[] = [];
  readonly openings: ModelOpening[] = [];
  readonly itemDecisions: ModelItemDecision[] = [];
  readonly schedules: number;
  readonly #db: Db;
  readonly #prefix: string;
  readonly #messages: Message[] = [];
  #put = 0;
  #reports = 0;
  /** The date of receipt of the roster's reports. */
  #today: string;

  constructor(db: Db, prefix: string, schedules: number, today = '2025-12-01') {
    this.#today = today;
    this.#db = db;
    this.#prefix = prefix;
    this.schedules = schedules;
  }

  /** Creates three employees and the schedules, whose dates equal the stepped ones. */
  async begin(): Promise<void> {
    const of = (pay_frequency: 'biweekly' | 'weekly', days: number, count: number) => ({
      pay_frequency,
      pay_group: null,
      pay_dates: every(days, '2025-01-03', count).map((pay_date) => ({
        pay_date,
        period_start: pay_date,
        period_end: pay_date,
      })),
    });
    const both = [of('biweekly', 14, 52), of('weekly', 7, 104)];
    for (const employer of this.schedules > 0 ? ['acme', 'other'] : [])
      await setSchedules(this.#db, both.slice(0, this.schedules), this.id(employer));
    for (const employee of ['e0', 'e1', 'e2'])
      await this.learn({
        employee,
        employer: 'acme',
        passed: 0,
        fact: { source: 'census', ...employment('') },
      });
  }

  async take(one: Step): Promise<void> {
    switch (one.does) {
      case 'send':
        return this.send(one.message);
      case 'correct':
        return this.#correct(one.correction);
      case 'learn':
        return this.learn(one.report);
      case 'decide':
        return this.#decide(one.which, one.decision);
      case 'assign':
        return this.#assign(one.which, one.employer, one.from);
      case 'void':
        return this.#void(one.which);
      case 'take':
        return this.#take(one);
      case 'wait':
        this.#today = one.day;
        return;
      case 'open':
        return this.#open(one);
      case 'settle':
        return this.#settle(one);
      case 'run':
        return this.#finalize(one.body, one.override ?? null);
    }
  }

  async #void(which: number): Promise<void> {
    const final = this.runs.filter((run) => !run.voided);
    const run = final[which % Math.max(1, final.length)];
    if (run === undefined) return;
    await voided(this.#db, run.id);
    run.voided = true;
  }

  /** Reports the amount that payroll took of a line. */
  async #take({ which, line: place, part }: Step & { does: 'take' }): Promise<void> {
    const final = this.runs.filter((run) => !run.voided);
    const run = final[which % Math.max(1, final.length)];
    const lines = run?.lines ?? [];
    const line = lines[place % Math.max(1, lines.length)];
    if (run === undefined || line === undefined) return;
    const amount = part === 3 ? line.member + 100n : (line.member * BigInt(part)) / 2n;
    const row = {
      employee_id: line.employee,
      deduction_id: line.deduction,
      kind: line.kind,
      amount: dollars(amount),
      ...(line.of !== null && {
        [line.item === 'opening' ? 'opening_id' : 'adjustment_for']: line.of,
        line_of_coverage: line.election.coverage,
        taxability: line.election.taxability,
      }),
    };
    const recorded = await taken(this.#db, run.id, row);
    if (!recorded.ok) throw new Error(JSON.stringify(recorded.problems));
    this.taken.push({ run: run.id, employee: line.employee, line: lineKeyOf(line), amount });
  }

  /** Decides on a moved start. The ledger refuses a decision on any other version. */
  async #decide(which: number, decided: 'keep' | 'drop'): Promise<void> {
    const open = ambiguousVersions(this);
    const version = open[which % Math.max(1, open.length)];
    if (version === undefined) return;
    const ofDeduction = this.versions.filter(({ deduction }) => deduction === version.deduction);
    await decide(this.#db, version.deduction, ofDeduction.indexOf(version) + 1, decided);
    this.decisions.push({ position: await this.position(), of: version.position, decision: decided });
  }

  /** Assigns a deduction to an employer. The ledger and the model refuse the same assignments. */
  async #assign(which: number, employer: string, from: string | null): Promise<void> {
    const deductions = [...new Set(this.versions.map(({ deduction }) => deduction))];
    const deduction = deductions[which % Math.max(1, deductions.length)];
    if (deduction === undefined) return;
    const employerId = this.id(employer);
    // Two equal ones in a row are one.
    const reason = `assignment ${this.assignments.length}`;
    const assigning = { deductionId: deduction, employerId, effectiveOn: from, reason };
    const assignment = { deduction, employer: employerId, from: from ?? this.#today };
    const refused = refusalOf(this, assignment, this.#today);
    const assigned = await assignDeduction(this.#db, assigning, this.#acting());
    const outcome = assigned.outcome === 'taken' ? assigned.by.toSorted() : assigned.outcome;
    deepStrictEqual(outcome, refused ?? 'assigned');
    if (refused === null) this.assignments.push({ ...assignment, position: await this.position() });
  }

  async #correct({ which, ahead, later, changes }: Correction): Promise<void> {
    const before = this.#messages[which % Math.max(1, this.#messages.length)];
    if (before === undefined) return;
    const { start } = before;
    const time = start === null ? before.sent : `${daysAfter(start, -ahead)}T08:00:00.000Z`;
    await this.send({
      ...before,
      ...changes,
      start: start === null ? null : daysAfter(start, later),
      sent: time > before.sent ? time : before.sent,
    });
  }

  async send(one: Message): Promise<void> {
    const { deduction, employee, start, end, sent: time, ...content } = one;
    const [id, employee_id] = [this.id(deduction), this.id(employee)];
    this.#messages.push(one);
    const dates = {
      ...(start === null ? {} : { effective_start: `${start}T05:31:56Z` }),
      ...(end === null ? {} : { effective_end: `${end}T00:00:00Z` }),
    };
    await send(this.#db, event(id, time, { ...content, employee_id, ...dates }));
    this.versions.push({
      position: await this.position(),
      deduction: id,
      employee: employee_id,
      coverage: one.line_of_coverage,
      coverageType: one.coverage_type,
      member: one.member_contribution,
      employer: one.employer_contribution,
      period: one.period,
      taxability: one.taxability,
      start,
      end,
      sent: time,
    });
  }

  /** Records a report. The ledger does not store a census row that changes nothing. */
  async learn({ employee, employer, passed, fact: { source, ...given } }: Report): Promise<void> {
    this.#today = daysAfter(this.#today, passed);
    const named = { ...given, employee_id: this.id(employee), employer_id: this.id(employer) };
    const before = await this.position();
    const from = { source, source_id: `${this.#prefix}-${this.#reports++}` };
    await transact(this.#db, (trx) => recordFacts(trx, [named], from, `${this.#today}T12:00:00.000Z`));
    const position = await this.position();
    if (position === before) return;
    this.facts.push({ ...stated(named), source, received: this.#today, position });
  }

  /** Creates a run and returns its lines from the ledger and from the model. */
  async put(given: RunBody): Promise<Compared> {
    const checked = runOf(this.#named(given));
    if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
    const run = runUnder(checked.run, []);
    this.#put += 1;
    const id = this.id(`run${this.#put}`);
    await put(this.#db, id, this.#named(given));
    return this.#compared(id, run, new Map());
  }

  async #compared(id: string, run: Run, overrides: ModelRun['overrides']): Promise<Compared> {
    const { roster, shared, lines } = modelOf(this, id, run, overrides);
    const is = (await linesOf(this.#db, id)).map((line) => printed(modelLine(line)));
    const compared = { id, run, voided: false, roster, shared, lines, overrides };
    const decisions = this.itemDecisions.length;
    return { ...compared, decisions, is: is.sort(), should: lines.map(printed).sort() };
  }

  async #finalize(given: RunBody, overriding: Overriding | null): Promise<void> {
    let compared = await this.put(given);
    assertSame(compared);
    const overrides = await this.#override(compared, overriding);
    if (overrides.size > 0) {
      compared = await this.#compared(compared.id, compared.run, overrides);
      assertSame(compared);
    }
    const { is: _, should: __, ...run } = compared;
    const { outcome } = await finalize(this.#db, run.id);
    if (outcome === 'finalized') this.runs.push(run);
    // A pay date has one open run.
    else if (outcome === 'date-taken')
      await transact(this.#db, (trx) => deleteOpenRun(trx, run.id, this.#acting()));
    else throw new Error(outcome);
  }

  /** Overrides the amounts of a deduction of an employee in the run, with or without a line. */
  async #override({ id, roster }: ModelRun, overriding: Overriding | null): Promise<ModelRun['overrides']> {
    const among = this.versions.filter(({ employee }) => roster.has(employee));
    if (overriding === null || among.length === 0) return new Map();
    const { place, member, employer } = overriding;
    const { employee, deduction } = among[place % among.length] as ModelVersion;
    const of = { runId: id, employeeId: employee, deductionId: deduction };
    const amounts = { member, employer, reason: 'a test' };
    const { outcome } = await overrideAmounts(this.#db, of, amounts, this.#acting());
    if (outcome !== 'created') throw new Error(outcome);
    return new Map([[`${employee} ${deduction}`, { member, employer }]]);
  }

  async #open({
    employee,
    employer,
    deduction,
    amounts,
    daysAgo,
    does: _,
    ...account
  }: Opening): Promise<void> {
    const opened: ModelOpening = {
      ...account,
      ...{ id: `opening-${this.openings.length}`, employer: this.id(employer), employee: this.id(employee) },
      deduction: deduction === null ? null : this.id(deduction),
      ...{ amounts, payDate: daysAfter(this.#today, -daysAgo) },
    };
    await storeOpening(this.#db, opened, this.#acting().now);
    this.openings.push(opened);
  }

  /** Decides about an outstanding item. The list of its employee's items must agree. */
  async #settle(settling: Settling): Promise<void> {
    const { action, isPart, which, days } = settling;
    const employerId = this.id(settling.employer);
    const employees = [...new Set(this.facts.map(({ employee_id }) => employee_id))];
    const rotated = employees.map((_, place) => employees[(which + place) % employees.length] as string);
    for (const employee of rotated) {
      const [is, should] = await this.items(employerId, employee, this.#today);
      const place = which % Math.max(1, should.length);
      const standing = should[place];
      if (standing === undefined) continue;
      const isOfEmployee = action === 'hold' && isPart;
      const decision = isOfEmployee
        ? holdOf(employerId, employee, days === null ? null : daysAfter(this.#today, days))
        : decisionOf(settling, employerId, standing, this.#today);
      if (decision === null) return;
      const item = isOfEmployee ? null : (is[place] as OpenItem);
      await storeDecision(this.#db, decision, item, this.#acting().now);
      this.itemDecisions.push(decision);
      return;
    }
  }

  /** Returns the outstanding items of an employee in the list of a day, of the ledger and of the model. */
  async items(employerId: string, employee: string, day: string): Promise<[OpenItem[], StandingItem[]]> {
    const should = listedItems(this, employerId, employee, day);
    const is = await storedItems(this.#db, employerId, employee, day);
    const [shown, expected] = [is.map(printedOpenItem), should.map(printedItem)];
    if (JSON.stringify(shown) !== JSON.stringify(expected)) throw new Different(shown, expected);
    return [is, should];
  }

  /** Returns the amount of a line of a run that payroll reported last, if any. */
  reported(runId: string, line: ModelLine): bigint | undefined {
    return this.taken.findLast(
      ({ run, employee, line: key }) =>
        run === runId && employee === line.employee && key === lineKeyOf(line),
    )?.amount;
  }

  /** The author and the time of a change. */
  #acting() {
    return acting(`${this.#today}T12:00:00.000Z`);
  }

  async position(): Promise<number> {
    return (await this.#db.selectFrom('ledger_head').select('position').executeTakeFirstOrThrow()).position;
  }

  id(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  #named(given: RunBody): RunBody {
    const named = { ...given, employer_id: this.id(given.employer_id) };
    for (const list of ['employee_ids', 'deductions'] as const) {
      const ids = given[list];
      if (ids === undefined) delete named[list];
      else named[list] = ids.map((id) => this.id(id));
    }
    if (given.final_checks !== undefined)
      named.final_checks = given.final_checks.map((entry) =>
        typeof entry === 'string' ? this.id(entry) : { ...entry, employee_id: this.id(entry.employee_id) },
      );
    return named;
  }
}

type Compared = ModelRun & { is: string[]; should: string[] };

function assertSame({ is, should }: Compared): void {
  if (JSON.stringify(is) !== JSON.stringify(should)) throw new Different(is, should);
}

function holdOf(employer: string, employee: string, until: string | null): ModelItemDecision {
  return {
    ...{ employer, employee, item: null, action: 'hold', until },
    ...{ madeFor: null, amount: null, notBefore: null },
  };
}

function stated(fact: NewFact): Omit<ModelFact, 'position' | 'source' | 'received'> {
  const { employee_id, employer_id, hire_date = null, termination_date = null } = fact;
  const { pay_frequency: frequency = null, pay_group = null, effective_on: from = null } = fact;
  return {
    employee_id,
    employer_id,
    hire_date,
    termination_date,
    pay_frequency: frequency,
    pay_group,
    absent: fact.absent ?? null,
    effective_on: from,
  };
}

/** Lists the lines that only the ledger or only the model has. */
class Different extends Error {
  constructor(is: readonly string[], should: readonly string[]) {
    super(
      [
        'is',
        ...is.filter((line) => !should.includes(line)),
        'should be',
        ...should.filter((line) => !is.includes(line)),
      ].join('\n'),
    );
  }
}
