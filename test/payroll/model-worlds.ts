/** Small worlds of employees, deductions and runs, made at random: written to a real ledger and to the model alike. */
import fc from 'fast-check';
import { PAY_FREQUENCIES, type PayFrequency } from '../../src/contract/pay-rate.ts';
import type { Db } from '../../src/database/tables.ts';
import type { NewFact } from '../../src/ledger/roster.ts';
import { APPLIES_ON, EXTRA_PAYCHECKS, REMAINDERS, SCHEMES } from '../../src/payroll/arithmetic/options.ts';
import { type Run, type RunBody, runOf } from '../../src/payroll/runs/body.ts';
import type { Line } from '../../src/payroll/runs/line.ts';
import { runUnder } from '../../src/payroll/runs/policy.ts';
import { every } from './calendars.ts';
import { type ModelFact, type ModelRun, type ModelVersion, modelOf, printed } from './model.ts';
import {
  body,
  employment,
  event,
  finalize,
  learn,
  linesOf,
  put,
  schedule,
  send,
  voided,
} from './runs-stage.ts';

const often = <T>(value: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { arbitrary: fc.constant(value), weight: 4 },
    { arbitrary: fc.constantFrom(...others), weight: 1 },
  );

const few = (from: string) =>
  fc.subarray(
    [0, 1, 2].map((index) => `${from}${index}`),
    { minLength: 1 },
  );

const day = fc.constantFrom(
  '2025-06-01',
  '2025-12-12',
  '2026-01-01',
  '2026-01-10',
  '2026-02-01',
  '2026-03-01',
);

/** A second of a hundred days around New Year. */
const sent = fc
  .integer({ min: 0, max: 100 * 86_400 })
  .map((second) => new Date(Date.parse('2025-11-20T00:00:00Z') + second * 1000).toISOString());

const message = fc.record({
  deduction: fc.constantFrom('d0', 'd1', 'd2', 'd3'),
  employee: often('e0', 'e1', 'e2'),
  line_of_coverage: fc.constantFrom('medical', 'dental'),
  member_contribution: fc.constantFrom('150.00', '33.33', '100', '100.0', '0', '-20.00'),
  employer_contribution: fc.constantFrom('0.00', '350'),
  period: often<PayFrequency>('monthly', ...PAY_FREQUENCIES),
  taxability: often<'pre_tax' | 'post_tax'>('pre_tax', 'post_tax'),
  start: fc.option(day),
  end: often(null, '2026-01-20', '2026-02-28'),
  sent,
});
export type Message = typeof message extends fc.Arbitrary<infer M> ? M : never;
type Fact = typeof fact extends fc.Arbitrary<infer F> ? F : never;

const fact = fc.record({
  employee: fc.constantFrom('e0', 'e1', 'e2'),
  employer: often('acme', 'other'),
  hire_date: often('2020-01-01', null, '2026-01-05', '2026-02-10'),
  termination_date: often(null, '2025-12-30', '2026-01-08', '2026-02-03', '2026-06-30'),
  pay_frequency: often('biweekly', null, 'weekly'),
  pay_group: often(null, 'g'),
  absent: often<0 | 1>(0, 1),
  effective_on: often(null, '2026-01-05', '2026-02-15', '2026-07-01'),
});

const options = fc.record(
  {
    scheme: fc.constantFrom(...SCHEMES),
    applies_on: fc.constantFrom(...APPLIES_ON),
    remainder: fc.constantFrom(...REMAINDERS),
    extra_paycheck: fc.constantFrom(...EXTRA_PAYCHECKS),
    final_checks: few('e'),
  },
  { requiredKeys: [] },
);

/** Of a year with one pay date more. */
const LONGER = [...every(14, '2026-01-02', 26), '2026-12-31'];

const asked: fc.Arbitrary<RunBody> = fc
  .record({
    place: fc.integer({ min: -2, max: 5 }),
    options,
    adjustments: fc.constantFrom(...(['include', 'include', 'report'] as const)),
    kind: often<RunBody['kind'] & string>('regular', 'off_cycle'),
    pay_frequency: often<PayFrequency>('biweekly', 'weekly'),
    pay_group: often<string | null>(null, 'g'),
    employee_ids: often<string[] | null>(null, ['e0', 'e1'], ['e2']),
    deductions: often<string[] | null>(null, ['d0'], ['d1', 'd2']),
    longer: fc.boolean(),
  })
  .map(({ place, options: chosen, employee_ids, deductions, pay_group, longer, ...rest }) => {
    const isLonger = longer && place >= 0 && rest.pay_frequency === 'biweekly';
    const named = employee_ids ?? (rest.kind === 'off_cycle' ? ['e0'] : null);
    return body(place, {
      ...chosen,
      ...rest,
      ...(named === null ? {} : { employee_ids: named }),
      ...(deductions === null ? {} : { deductions }),
      ...(pay_group === null ? {} : { pay_group }),
      ...(isLonger ? { pay_dates: LONGER } : {}),
    });
  });

export type Step =
  | { does: 'send'; message: Message }
  | { does: 'learn'; fact: Fact }
  | { does: 'run'; body: RunBody }
  | { does: 'void'; which: number };

export const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ does: fc.constant('send' as const), message }), weight: 5 },
  { arbitrary: fc.record({ does: fc.constant('learn' as const), fact }), weight: 1 },
  { arbitrary: fc.record({ does: fc.constant('run' as const), body: asked }), weight: 4 },
  { arbitrary: fc.record({ does: fc.constant('void' as const), which: fc.nat({ max: 9 }) }), weight: 1 },
);

export const messages = fc.uniqueArray(message, { minLength: 2, maxLength: 8, selector: (one) => one.sent });

/** A world with ids of its own, so that many share a database. */
export class SmallWorld {
  readonly facts: ModelFact[] = [];
  readonly versions: ModelVersion[] = [];
  readonly runs: ModelRun[] = [];
  readonly schedules: number;
  readonly #db: Db;
  readonly #prefix: string;
  #put = 0;

  constructor(db: Db, prefix: string, schedules: number) {
    this.#db = db;
    this.#prefix = prefix;
    this.schedules = schedules;
  }

  /** All three are employed, and the employer has its schedules: of the dates that would be stepped. */
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
    if (this.schedules > 0) await schedule(this.#db, this.#id('acme'), both.slice(0, this.schedules));
    await this.learn(...['e0', 'e1', 'e2'].map((employee) => employment(this.#id(employee))));
  }

  async take(one: Step): Promise<void> {
    if (one.does === 'send') await this.send(one.message);
    if (one.does === 'learn') {
      const { employee, employer, ...changes } = one.fact;
      await this.learn(employment(this.#id(employee), { ...changes, employer_id: employer }));
    }
    if (one.does === 'void') {
      const standing = this.runs.filter((run) => !run.voided);
      const run = standing[one.which % Math.max(1, standing.length)];
      if (run === undefined) return;
      await voided(this.#db, run.id);
      run.voided = true;
    }
    if (one.does === 'run') await this.#finalize(one.body);
  }

  async send(one: Message): Promise<void> {
    const { deduction, employee, start, end, sent: time, ...content } = one;
    const [id, employee_id] = [this.#id(deduction), this.#id(employee)];
    await send(
      this.#db,
      event(id, time, {
        ...content,
        employee_id,
        ...(start === null ? {} : { effective_start: `${start}T05:31:56Z` }),
        ...(end === null ? {} : { effective_end: `${end}T00:00:00Z` }),
      }),
    );
    this.versions.push({
      position: await this.position(),
      deduction: id,
      employee: employee_id,
      coverage: one.line_of_coverage,
      member: one.member_contribution,
      employer: one.employer_contribution,
      period: one.period,
      taxability: one.taxability,
      start,
      end,
      sent: time,
    });
  }

  /** Facts that differ from what is known. */
  async learn(...given: NewFact[]): Promise<void> {
    const named = given.map((one) => ({ ...one, employer_id: this.#id(one.employer_id) }));
    const before = await this.position();
    await learn(this.#db, ...named);
    const learned = (await this.position()) - before;
    for (const [index, one] of named.slice(0, learned).entries())
      this.facts.push({ ...stated(one), position: before + index + 1 });
  }

  /** Puts a run and answers what the ledger and the model say of it. */
  async put(
    given: RunBody,
  ): Promise<{ id: string; run: Run; roster: Set<string>; is: string[]; should: string[] }> {
    const checked = runOf(this.#named(given));
    if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
    const run = runUnder(checked.run, []);
    this.#put += 1;
    const id = this.#id(`run${this.#put}`);
    await put(this.#db, id, this.#named(given));
    const { roster, lines } = modelOf(this, id, run);
    const is = (await linesOf(this.#db, id)).map((line) => printed(modelLine(line)));
    return { id, run, roster, is: is.sort(), should: lines.map(printed).sort() };
  }

  async #finalize(given: RunBody): Promise<void> {
    const { id, run, roster, is, should } = await this.put(given);
    if (JSON.stringify(is) !== JSON.stringify(should)) throw new Different(is, should);
    const { lines } = modelOf(this, id, run);
    const position = await this.position();
    const { outcome } = await finalize(this.#db, id);
    if (outcome === 'finalized') this.runs.push({ id, run, voided: false, position, roster, lines });
    else if (outcome !== 'date-taken') throw new Error(outcome);
  }

  async position(): Promise<number> {
    return (await this.#db.selectFrom('ledger_head').select('position').executeTakeFirstOrThrow()).position;
  }

  #id(name: string): string {
    return `${this.#prefix}-${name}`;
  }

  #named(given: RunBody): RunBody {
    const named = { ...given, employer_id: this.#id(given.employer_id) };
    for (const list of ['employee_ids', 'deductions', 'final_checks'] as const) {
      const ids = given[list];
      if (ids === undefined) delete named[list];
      else named[list] = ids.map((id) => this.#id(id));
    }
    return named;
  }
}

function stated(fact: NewFact): Omit<ModelFact, 'position'> {
  const { employee_id, employer_id, hire_date = null, termination_date = null } = fact;
  const { pay_frequency = null, pay_group = null, effective_on = null } = fact;
  const absent = fact.absent === 1 ? 1 : 0;
  return {
    employee_id,
    employer_id,
    hire_date,
    termination_date,
    pay_frequency,
    pay_group,
    absent,
    effective_on,
  };
}

/** The lines of the ledger and of the model that the other one lacks. */
export class Different extends Error {
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

const cents = (amount: string) => BigInt(amount.replace('.', ''));

export function modelLine(line: Line): Parameters<typeof printed>[0] {
  return {
    employee: line.employee_id,
    deduction: line.deduction_id,
    coverage: line.line_of_coverage,
    taxability: line.taxability,
    kind: line.kind as 'regular' | 'adjustment',
    of: line.adjustment_for,
    member: cents(line.member_amount),
    employer: cents(line.employer_amount),
    change: line.change,
    previous: line.previous_amount === null ? null : cents(line.previous_amount),
    flags: line.flags,
  };
}
