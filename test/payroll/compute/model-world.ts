/** A world of employees, deductions and runs, written to a real ledger and to the model. */
import { deepStrictEqual } from 'node:assert/strict';
import type { COVERAGE_TYPES } from '../../../src/contract/deduction.ts';
import type { Db } from '../../../src/database/tables.ts';
import { transact } from '../../../src/database/transaction.ts';
import { isAppError } from '../../../src/errors.ts';
import type { IncomingDeduction } from '../../../src/ledger/fold.ts';
import { type FactSource, type NewFact, recordFacts } from '../../../src/ledger/roster.ts';
import { type ItemKind, itemId } from '../../../src/payroll/calculation/items.ts';
import type { OpenItem } from '../../../src/payroll/compute/item-state.ts';
import { assignDeduction } from '../../../src/payroll/lifecycle/assign.ts';
import type { CheckReadiness } from '../../../src/payroll/lifecycle/finalize.ts';
import { deleteOpenRun, overrideAmounts } from '../../../src/payroll/lifecycle/overrides.ts';
import { putScheduleYear } from '../../../src/payroll/lifecycle/schedules.ts';
import type { Run, RunBody } from '../../../src/payroll/records/body.ts';
import { runOf } from '../../../src/payroll/records/body.ts';
import { DEFAULTS, type Options } from '../../../src/payroll/settings/policy.ts';
import type { PayDate, Schedule } from '../../../src/payroll/settings/schedules.ts';
import { acting } from '../../support/audit.ts';
import {
  daysAfter,
  event,
  finalize,
  linesOf,
  put,
  send,
  setPolicy,
  taken,
  voided,
} from '../../support/payroll.ts';
import {
  endOfJob,
  isStopped,
  lineKeyOf,
  type ModelAssignment,
  type ModelFact,
  type ModelLine,
  type ModelRun,
  type ModelTaken,
  type ModelVersion,
  printed,
  refusalOf,
  type World,
} from './model.ts';
import { dollars } from './model-calendar.ts';
import {
  decidedWith,
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
export type Correction = {
  which: number;
  /** The number of days before the start at which it is sent; negative after it. */
  ahead: number;
  /** The number of days by which the start moves. */
  later: number;
  changes: Partial<Message>;
};

type Fact = FactSource['source'] extends infer S
  ? { source: S } & Omit<NewFact, 'employee_id' | 'employer_id'>
  : never;

export type Report = { employee: string; employer: string; fact: Fact };

export type Rescheduling = { which: number; change: 'drop' | 'add' | 'fewer' | PayDate['takes'] };

/** Payroll takes another amount of a line: less, nothing, or too much. */
export type ShortPay = { line: number; part: -1 | 0 | 1 | 2 | 3 };

/** The employers `acme` and `other` in a database of their own. `which` and `place` choose among what there is. */
export class RecordedWorld implements World {
  readonly facts: ModelFact[] = [];
  readonly versions: ModelVersion[] = [];
  readonly assignments: ModelAssignment[] = [];
  readonly runs: ModelRun[] = [];
  readonly taken: ModelTaken[] = [];
  readonly openings: ModelOpening[] = [];
  readonly itemDecisions: ModelItemDecision[] = [];
  /** The day of the next event. */
  today: string;
  readonly #db: Db;
  readonly #checkReadiness: CheckReadiness | undefined;
  readonly #messages: Message[] = [];
  readonly #schedules = new Map<string, Schedule[]>();
  readonly #policies: { employer: string; from: string; options: Options }[] = [];
  #put = 0;
  #reports = 0;

  /** `checkReadiness`: of each run before it becomes final. */
  constructor(db: Db, today: string, checkReadiness?: CheckReadiness) {
    this.#db = db;
    this.today = today;
    this.#checkReadiness = checkReadiness;
  }

  schedulesOf(employerId: string): readonly Schedule[] {
    return this.#schedules.get(employerId) ?? [];
  }

  /** Replaces the schedules of an employer. */
  async schedule(employerId: string, schedules: Schedule[]): Promise<void> {
    for (const year of ['2025', '2026']) {
      const ofYear = schedules
        .map((schedule) => ({
          ...schedule,
          pay_dates: schedule.pay_dates.filter(({ pay_date }) => pay_date.startsWith(year)),
        }))
        .filter(({ pay_dates }) => pay_dates.length > 0);
      const change = { schedules: ofYear, untaken: true };
      await transact(this.#db, (trx) => putScheduleYear(trx, employerId, year, change, this.#acting()));
    }
    this.#schedules.set(employerId, schedules);
  }

  /** Changes a pay date without a finalized run: drops it, adds another one after it, or changes what it takes. */
  async reschedule(employerId: string, { which, change }: Rescheduling): Promise<void> {
    const schedules = structuredClone(this.#schedules.get(employerId) ?? []);
    const schedule = schedules[which % Math.max(1, schedules.length)];
    if (schedule === undefined) return;
    const used = new Set(
      this.runs
        .filter(({ voided, run }) => !voided && run.kind === 'regular' && run.employer_id === employerId)
        .map(({ run }) => run.pay_date),
    );
    const free = schedule.pay_dates.filter(({ pay_date }) => !used.has(pay_date) && pay_date >= '2025-07');
    const date = free[which % Math.max(1, Math.min(30, free.length))];
    if (date === undefined) return;
    if (change === 'drop') schedule.pay_dates.splice(schedule.pay_dates.indexOf(date), 1);
    else if (change === 'add') {
      const pay_date = daysAfter(date.pay_date, 3);
      if (schedule.pay_dates.some((other) => other.pay_date === pay_date) || used.has(pay_date)) return;
      const added = { pay_date, period_start: date.pay_date, period_end: daysAfter(pay_date, -1) };
      schedule.pay_dates.splice(schedule.pay_dates.indexOf(date) + 1, 0, { ...added, takes: 'all' });
    } else if (change === 'fewer') schedule.year_in_fewer_checks = !schedule.year_in_fewer_checks;
    else date.takes = change;
    const years = schedules.map(({ pay_dates }) => new Set(pay_dates.map((one) => one.pay_date.slice(0, 4))));
    if (years.some((of) => of.size < 2)) return;
    await this.schedule(employerId, schedules);
  }

  /** Adds a version to an employer's policy. */
  async setPolicy(employerId: string, options: Options, from: string): Promise<void> {
    await setPolicy(this.#db, options, from, employerId);
    this.#policies.push({ employer: employerId, from, options });
  }

  /** Returns a run with the options of the latest version that its pay date knows. */
  #under(given: RunBody): Run {
    const versions = this.#policies
      .filter(({ employer, from }) => employer === given.employer_id && from <= given.pay_date)
      .sort((one, other) => (one.from < other.from ? -1 : one.from === other.from ? 0 : 1));
    return { ...runOf(given), ...DEFAULTS, ...versions.at(-1)?.options };
  }

  /** Returns a run that is final and not voided. */
  #final(which: number): ModelRun | undefined {
    const final = this.runs.filter((run) => !run.voided);
    return final[which % Math.max(1, final.length)];
  }

  async void(which: number): Promise<void> {
    const run = this.#final(which);
    if (run === undefined) return;
    await voided(this.#db, run.id);
    run.voided = true;
  }

  /** Reports the amount that payroll took of a line. */
  async take(which: number, { line: place, part }: ShortPay): Promise<void> {
    const run = this.#final(which);
    const lines = run?.lines ?? [];
    const line = lines[place % Math.max(1, lines.length)];
    if (run === undefined || line === undefined) return;
    const amount = part === 3 ? line.member + 100n : (line.member * BigInt(part)) / 2n;
    const row = {
      employee_id: line.employee,
      deduction_id: line.deduction,
      kind: line.kind,
      amount: dollars(amount),
      over: 'true',
      ...(line.of !== null && { item_id: itemIdOf(line, line.of) }),
    };
    await taken(this.#db, run.id, row);
    this.taken.push({ run: run.id, employee: line.employee, line: lineKeyOf(line), amount });
  }

  /** Assigns a deduction to an employer. The ledger and the model refuse the same assignments. */
  async assign(which: number, employer: string, from: string | null): Promise<void> {
    const deductions = [...new Set(this.versions.map(({ deduction }) => deduction))];
    const deduction = deductions[which % Math.max(1, deductions.length)];
    if (deduction === undefined) return;
    // Two equal ones in a row are one.
    const reason = `assignment ${this.assignments.length}`;
    const assigning = { deductionId: deduction, employerId: employer, effectiveOn: from, reason };
    const assignment = { deduction, employer, from: from ?? this.today };
    const refused = refusalOf(this, assignment, this.today);
    const outcome = await assignDeduction(this.#db, assigning, this.#acting()).then(
      () => 'assigned',
      ({ code, message }) => /: (.*)\. Assign it/.exec(message)?.[1]?.split(', ').toSorted() ?? code,
    );
    deepStrictEqual(outcome, refused ?? 'assigned');
    if (refused === null) this.assignments.push({ ...assignment, position: await this.position() });
  }

  async correct({ which, ahead, later, changes }: Correction): Promise<void> {
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
    const { deduction, employee: employee_id, start, end, sent: time, ...content } = one;
    this.#messages.push(one);
    const dates = {
      ...(start === null ? {} : { effective_start: `${start}T05:31:56Z` }),
      ...(end === null ? {} : { effective_end: `${end}T00:00:00Z` }),
    };
    await send(this.#db, event(deduction, time, { ...content, employee_id, ...dates }));
    this.versions.push({
      position: await this.position(),
      ...{ deduction, start, end, sent: time },
      employee: employee_id,
      coverage: one.line_of_coverage,
      coverageType: one.coverage_type,
      member: one.member_contribution,
      employer: one.employer_contribution,
      period: one.period,
      taxability: one.taxability,
    });
  }

  /** Records a report. The ledger does not store a census row that changes nothing. */
  async learn({ employee, employer, fact: { source, ...given } }: Report): Promise<void> {
    const named = { ...given, employee_id: employee, employer_id: employer };
    const before = await this.position();
    const from = { source, source_id: `report-${this.#reports++}` };
    await transact(this.#db, (trx) => recordFacts(trx, [named], from, `${this.today}T12:00:00.000Z`));
    const position = await this.position();
    if (position === before) return;
    this.facts.push({ ...stated(named), source, received: this.today, position });
  }

  async #compared(id: string, run: Run, overrides: ModelRun['overrides']): Promise<Compared> {
    const computed = modelOf(this, id, run, overrides);
    const is = (await linesOf(this.#db, id)).map((line) => printed(modelLine(line)));
    return { ...computed, is: is.sort(), should: computed.lines.map(printed).sort() };
  }

  /** Finalizes a run. Its lines must be the model's, with and without an override. */
  async run(given: RunBody, overriding: Overriding | null = null): Promise<void> {
    this.#put += 1;
    const stored = await put(this.#db, `run${this.#put}`, given);
    let compared = await this.#compared(stored.run_id, this.#under(given), new Map());
    assertSame(compared);
    const overrides = await this.#override(compared, overriding);
    if (overrides.size > 0) {
      compared = await this.#compared(compared.id, compared.run, overrides);
      assertSame(compared);
    }
    const { is: _, should: __, ...run } = compared;
    try {
      await finalize(this.#db, run.id, {}, this.#checkReadiness);
      this.runs.push(run);
    } catch (error) {
      if (!isAppError(error, 'CONFLICT') || !error.message.includes('for this pay date')) throw error;
      // A pay date has one open run.
      await transact(this.#db, (trx) => deleteOpenRun(trx, run.id, this.#acting()));
    }
  }

  /** Overrides the amounts of a deduction of an employee in the run, with or without a line. */
  async #override(
    { id, roster, lines }: ModelRun,
    overriding: Overriding | null,
  ): Promise<ModelRun['overrides']> {
    const among = this.versions.filter(({ employee }) => roster.has(employee));
    if (overriding === null || among.length === 0) return new Map();
    const { place, member, employer } = overriding;
    const { employee, deduction } = among[place % among.length] as ModelVersion;
    const of = { runId: id, employeeId: employee, deductionId: deduction };
    const amounts = { member, employer, reason: 'a test' };
    await overrideAmounts(this.#db, of, amounts, this.#acting());
    const hadLine = lines.some(
      (line) =>
        line.kind === 'regular' &&
        line.employee === employee &&
        line.deduction === deduction &&
        !isStopped(line),
    );
    return new Map([[`${employee} ${deduction}`, { member, employer, hadLine }]]);
  }

  /** Reports whether a termination is known: a final check needs one. */
  hasEnded(employer: string, employee: string): boolean {
    const run = { employer_id: employer, period_end: '9999-12-31' };
    return endOfJob(this, run, employee) !== null;
  }

  async open({ daysAgo, ...fields }: Opening): Promise<void> {
    const id = `opening-${this.openings.length}`;
    const opened: ModelOpening = { id, ...fields, payDate: daysAfter(this.today, -daysAgo) };
    await storeOpening(this.#db, opened, this.#acting().now);
    this.openings.push(opened);
  }

  /** Decides about an outstanding item, or again. The list of its employee's items must agree. */
  async settle(settling: Settling): Promise<void> {
    const { which } = settling;
    const employerId = settling.employer;
    const employees = [...new Set(this.facts.map(({ employee_id }) => employee_id))];
    const rotated = employees.map((_, place) => employees[(which + place) % employees.length] as string);
    for (const employee of rotated) {
      const [is, should] = await this.items(employerId, employee, this.today);
      const place = which % Math.max(1, should.length);
      const standing = should[place];
      if (standing === undefined) continue;
      for (const item of decidedWith(settling, standing, should)) {
        const decision = decisionOf(settling, employerId, item, this.today);
        if (decision === null) return;
        await storeDecision(this.#db, decision, is[should.indexOf(item)] as OpenItem, this.#acting().now);
        this.itemDecisions.push(decision);
      }
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
    return acting(`${this.today}T12:00:00.000Z`);
  }

  async position(): Promise<number> {
    return (await this.#db.selectFrom('ledger_head').select('position').executeTakeFirstOrThrow()).position;
  }
}

type Compared = ModelRun & { is: string[]; should: string[] };

function assertSame({ is, should }: Compared): void {
  if (JSON.stringify(is) !== JSON.stringify(should)) throw new Different(is, should);
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
    const lines = [
      'is',
      ...is.filter((line) => !should.includes(line)),
      'should be',
      ...should.filter((line) => !is.includes(line)),
    ];
    super(lines.join('\n'));
  }
}

/** Returns the id of the open item that a line takes. `source`: the run or opening item. */
function itemIdOf({ employee, deduction, item, election }: ModelLine, source: string): string {
  return itemId({
    ...{ kind: item as ItemKind, source, employee_id: employee, deduction_id: deduction || null },
    ...{ line_of_coverage: election.coverage, taxability: election.taxability },
  });
}
