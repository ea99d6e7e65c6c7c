/** Acts 8 and 9: payroll asks what to deduct, finalizes it, and settles what changed afterwards. */
import type { PayrollRun } from '../../api/run-schemas.ts';
import type { ReadinessReport } from '../../payroll/readiness.ts';
import type { Line } from '../../payroll/runs/line.ts';
import type { PayDate } from '../../payroll/runs/settings.ts';
import type { Verification } from '../../payroll/runs/verify.ts';
import { amountOf, centsOf, type Place, shareOf } from './by-hand.ts';
import { biweeklyCalendar, type Calendar, monthlyCalendar } from './calendar.ts';
import { allApplied } from './deduction-acts.ts';
import { expect, expectEqual, StepFailed } from './expectation.ts';
import { tellLine } from './line-words.ts';
import { type Act, counted, type Scene } from './scene.ts';

export const PAYROLL_ACTS: readonly Act[] = [
  { title: 'Payroll asks what to deduct: a run of each employer, looked at and finalized', play: runPayroll },
  { title: 'A deduction changes for a period that is paid: the next run settles it', play: settle },
];

type Frequency = 'monthly' | 'biweekly';
/** How each employer pays in turn, and what one employee's medical premium turns out to be afterwards. */
const PAYROLLS: readonly { frequency: Frequency; corrected: string }[] = [
  { frequency: 'monthly', corrected: '171.00' },
  { frequency: 'biweekly', corrected: '215.94' },
];
const CALENDARS: Readonly<Record<Frequency, (today: Date) => Calendar>> = {
  monthly: monthlyCalendar,
  biweekly: biweeklyCalendar,
};

type Payroll = Calendar & { employerId: string; frequency: Frequency; corrected: string };

function payrollsOf({ stage, now }: Scene): Payroll[] {
  return [...stage.censuses.keys()].map((employerId, nth) => {
    const payroll = PAYROLLS[nth % PAYROLLS.length] as (typeof PAYROLLS)[number];
    return { employerId, ...payroll, ...CALENDARS[payroll.frequency](now()) };
  });
}

async function runPayroll(scene: Scene): Promise<void> {
  const { stage, tell, holds } = scene;
  for (const payroll of payrollsOf(scene)) {
    const { employerId, frequency, payDates, first } = payroll;
    const schedules = [{ pay_frequency: frequency, pay_dates: payDates }];
    await stage.api.send('PUT', `/v1/employers/${encodeURIComponent(employerId)}/pay-schedule`, {
      schedules,
    });
    tell(`${employerId} pays ${frequency}; its ${payDates.length} pay dates of the year are put.`);
    const run = await putRun(scene, payroll, first, 'report');
    const { checks } = await stage.api.get<ReadinessReport>(`${pathOf(run)}/readiness`);
    const open = checks.filter((check) => check.result !== 'pass');
    const found = open.map((check) => `${check.id}: ${check.examples.join(', ')}`).join('; ');
    expect(open.length === 0, 'every check of its readiness to pass', found);
    holds(`All ${checks.length} checks of its readiness pass.`);

    const lines = await linesOf(scene, run);
    for (const line of lines) {
      tellLine(tell, line);
      expectByHand(scene, line, payroll, first);
    }
    if (lines.some((line) => line.flags.includes('partial_cycle'))) {
      tell('partial_cycle: its first or last check in the year. Each check takes its own share only.');
    }
    holds(`${counted(lines.length, 'line')}: each cent is the one that is worked out by hand.`);
    await finalize(scene, run, lines);
  }
}

async function settle(scene: Scene): Promise<void> {
  const { stage, tell, holds } = scene;
  for (const payroll of payrollsOf(scene)) {
    const { employerId, frequency, corrected, first, second } = payroll;
    const firstId = runIdOf(employerId, first);
    const paid = (await linesOf(scene, { run_id: firstId })).find(
      (line) => line.line_of_coverage === 'medical',
    );
    if (paid === undefined) throw new StepFailed(`a medical line in ${firstId}`, 'none');
    tell(`${firstId} took medical of ${paid.employee_id} at ${paid.member_contribution}.`);
    tell(`Now the news comes that it was ${corrected} from its first day on.`);
    await stage.simulator.send(
      stage.simulator.changeDeduction(paid.deduction_id, { member_contribution: corrected }),
    );
    await allApplied(stage);

    const run = await putRun(scene, payroll, second, 'include');
    const lines = await linesOf(scene, run);
    const adjustments = lines.filter((line) => line.kind === 'adjustment');
    const [adjustment] = adjustments;
    const due =
      shareOf(corrected, 'monthly', frequency, placeOf(payroll, first)) - centsOf(paid.member_amount);
    expectEqual(
      'the adjustments',
      adjustments.map((line) => [line.deduction_id, line.adjustment_for, line.member_amount]),
      [[paid.deduction_id, firstId, amountOf(due)]],
    );
    for (const line of lines) {
      if (line.kind === 'regular') expectByHand(scene, line, payroll, second);
      if (line.kind !== 'regular' || line.change !== 'same') tellLine(tell, line);
    }
    const flag = due > 0n ? 'retro_pre_tax' : 'retro_refund';
    expect(adjustment?.flags.includes(flag) === true, `the flag ${flag}`, String(adjustment?.flags));
    holds(
      due > 0n
        ? `${amountOf(due)} too little was taken, and is taken now; flagged, as pre-tax elections look forward.`
        : `${amountOf(-due)} too much was taken, and is given back now; flagged as a refund.`,
    );
    await finalize(scene, run, lines);

    const verified = await stage.api.get<Verification>(`/v1/payroll-runs/${firstId}/verify`);
    expect(
      verified.identical,
      `${firstId} to come out as it was finalized`,
      JSON.stringify(verified.differences),
    );
    holds(
      `${firstId}, computed again by what was known then, is identical: ${counted(verified.lines, 'line')}.`,
    );
  }
}

function runIdOf(employerId: string, { pay_date }: PayDate): string {
  return `${employerId}-${pay_date}`;
}

function pathOf({ run_id }: Pick<PayrollRun, 'run_id'>): string {
  return `/v1/payroll-runs/${run_id}`;
}

async function putRun(
  { stage, tell }: Scene,
  { employerId, frequency }: Payroll,
  date: PayDate,
  adjustments: 'report' | 'include',
): Promise<PayrollRun> {
  const body = {
    employer_id: employerId,
    pay_frequency: frequency,
    ...date,
    applies_on: 'period_end',
    adjustments,
  };
  const run_id = runIdOf(employerId, date);
  const run = await stage.api.send<PayrollRun>('PUT', pathOf({ run_id }), body);
  tell(
    `Run ${run_id} for ${date.period_start} to ${date.period_end}: ` +
      `${counted(run.employees, 'employee')}, adjustments: ${adjustments}.`,
  );
  return run;
}

function linesOf({ stage }: Scene, run: Pick<PayrollRun, 'run_id'>): Promise<Line[]> {
  return stage.api.list<Line>(`${pathOf(run)}/lines`);
}

/** Finalizes just what was looked at, after its totals were added up from the lines. */
async function finalize(
  { stage, holds }: Scene,
  { run_id }: PayrollRun,
  lines: readonly Line[],
): Promise<void> {
  const { etag, totals } = await stage.api.get<PayrollRun>(pathOf({ run_id }));
  const sum = (amounts: string[]) => amountOf(amounts.reduce((total, amount) => total + centsOf(amount), 0n));
  expectEqual(
    `the totals of ${run_id}`,
    [totals.member_amount, totals.employer_amount],
    [sum(lines.map((line) => line.member_amount)), sum(lines.map((line) => line.employer_amount))],
  );
  const { state } = await stage.api.send<PayrollRun>('POST', `${pathOf({ run_id })}/finalize`, {}, etag);
  expectEqual(`the state of ${run_id}`, state, 'finalized');
  holds(
    `Finalized as reviewed, by its ETag: employees pay ${totals.member_amount}, the employer ${totals.employer_amount}.`,
  );
}

function placeOf({ payDates }: Payroll, { pay_date }: PayDate): Place {
  return { check: payDates.findIndex((date) => date.pay_date === pay_date) + 1, checks: payDates.length };
}

/** Compares a regular line with what the benefits service holds, worked out by hand. */
function expectByHand({ stage }: Scene, line: Line, payroll: Payroll, date: PayDate): void {
  const what = `${line.line_of_coverage} of ${line.employee_id} on ${date.pay_date}`;
  const held = stage.simulator.deductions().find(({ id }) => id === line.deduction_id);
  if (held === undefined) throw new StepFailed(`a line of a deduction that there is`, what);
  const ends = held.effective_end?.slice(0, date.pay_date.length);
  const shares =
    ends !== undefined && ends < date.pay_date
      ? ['0.00', '0.00']
      : [held.member_contribution, held.employer_contribution].map((amount) =>
          amountOf(shareOf(amount, held.period, payroll.frequency, placeOf(payroll, date))),
        );
  expectEqual(what, [line.member_amount, line.employer_amount], shares);
}
