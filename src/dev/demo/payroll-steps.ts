import type { CheckResult, ReadinessReport } from '../../checks.ts';
import { counted } from '../../cli/output.ts';
import { changeOf, sentencesOf } from '../../cli/run/print-lines.ts';
import type { PayFrequency } from '../../contract/employee.ts';
import { amountOf, centsOf, dollars } from '../../money.ts';
import type { LineRecord } from '../../payroll/calculation/line.ts';
import type { PayrollRun } from '../../payroll/lifecycle/run-view.ts';
import type { Verification } from '../../payroll/lifecycle/verify.ts';
import type { ShownItem } from '../../payroll/reconciliation/open-items.ts';
import { byYear, type PayDate } from '../../payroll/settings/schedules.ts';
import { allApplied } from './ledger-steps.ts';
import { type Calendar, calendarOf } from './pay-dates.ts';
import { expect, expectEqual, type Scene, type Step, StepFailed } from './stage.ts';

export const PAYROLL_STEPS: readonly Step[] = [
  { title: 'Payroll computes, reviews and finalizes a run for each employer', play: runPayroll },
  { title: 'A deduction changes for a past pay period: the next run adjusts it', play: adjust },
];

/**
 * How an employer pays most of its employees, how its first run handles employees with other pay frequencies, and
 * the corrected medical premium of one employee.
 */
type Plan = { frequency: PayFrequency; others: 'scheduled' | 'accepted'; corrected: string };
const PLANS: readonly Plan[] = [
  { frequency: 'monthly', others: 'scheduled', corrected: '171.00' },
  { frequency: 'biweekly', others: 'accepted', corrected: '215.94' },
];
const NOT_SCHEDULED = 'employees-not-scheduled';
const REASON = 'paid elsewhere until the next run';

type DemoPayroll = Plan & Calendar & { employerId: string };

function payrollsOf({ stage, now }: Scene): DemoPayroll[] {
  return [...stage.censuses.keys()].map((employerId, nth) => {
    const plan = PLANS[nth % PLANS.length] as Plan;
    return { employerId, ...plan, ...calendarOf(plan.frequency, now()) };
  });
}

async function runPayroll(scene: Scene): Promise<void> {
  const { show, confirm } = scene;
  for (const payroll of payrollsOf(scene)) {
    const { employerId, frequency, payDates, first } = payroll;
    await putSchedules(scene, [payroll]);
    show(`${employerId} pays ${frequency}. Its schedule has ${payDates.length} pay dates this year.`);
    await putPolicy(scene, payroll);
    const run = await putRun(scene, payroll, first);
    await expectLeftOut(scene, run, payroll);
    if (payroll.others === 'scheduled') {
      await scheduleOthers(scene, payroll);
      await expectReady(scene, run);
    }

    const lines = await linesOf(scene, run);
    for (const line of lines) printDemoLine(show, line);
    if (lines.some((line) => line.flags.includes('partial_cycle'))) {
      show('partial_cycle: the first or last check of the year takes only its own share.');
    }
    const unexplained = lines.filter(({ explanation }) => explanation === '');
    expectEqual('lines without an explanation', unexplained, []);
    confirm(`${counted(lines.length, 'line')}: every amount is explained.`);
    const totals = await finalize(scene, run, lines, payroll.others === 'accepted');
    scene.summarize(`${run.id}: ${totals}.`);
    const [line] = lines;
    if (line !== undefined && payroll.others === 'accepted')
      scene.summarize(`${line.employee_id}, ${line.line_of_coverage}: ${sentencesOf(line)[0]}`);
    if (payroll.others === 'scheduled') await runOthers(scene, payroll);
  }
}

/** Checks that every employee with a different pay frequency is named, with the reason, and fails readiness. */
async function expectLeftOut(scene: Scene, run: PayrollRun, payroll: DemoPayroll): Promise<void> {
  const { stage, show, confirm } = scene;
  const others = othersOf(scene, payroll).map(({ employee_id }) => employee_id);
  for (const { employee_id, reason } of run.not_in_run) show(`Not in the run: ${employee_id} (${reason}).`);
  expectEqual(
    'employees not in the run',
    run.not_in_run.map(({ employee_id, reason }) => [employee_id, reason]),
    others.map((id) => [id, 'other_frequency']),
  );
  const { checks } = await stage.api.get<ReadinessReport>(`${pathOf(run)}/readiness`);
  expectEqual('checks that do not pass', openOf(checks), [[NOT_SCHEDULED, 'fail', others]]);
  confirm(`The check ${NOT_SCHEDULED} fails: no pay schedule covers them.`);
}

/** Sets a pay schedule for each pay frequency in the employer's census. */
async function scheduleOthers(scene: Scene, payroll: DemoPayroll): Promise<void> {
  const others = otherPayrolls(scene, payroll);
  await putSchedules(scene, [payroll, ...others]);
  scene.show(`Payroll adds the missing schedules: ${others.map((one) => one.frequency).join(', ')}.`);
}

/** Runs the payrolls of the employees whose pay frequency is not the usual one, and checks that none is left out. */
async function runOthers(scene: Scene, payroll: DemoPayroll): Promise<void> {
  const { employerId } = payroll;
  let employees = 0;
  for (const other of otherPayrolls(scene, payroll)) {
    const run = await putRun(scene, other, other.first, `${employerId}-${other.frequency}`);
    employees += run.employees;
    await expectReady(scene, run);
    const lines = await linesOf(scene, run);
    await finalize(scene, run, lines);
  }
  expectEqual('employees in those runs', employees, othersOf(scene, payroll).length);
  scene.confirm(`Every employee of ${employerId} with a deduction is in a run.`);
}

function otherPayrolls(scene: Scene, payroll: DemoPayroll): DemoPayroll[] {
  const frequencies = new Set(othersOf(scene, payroll).map((one) => one.pay_frequency as PayFrequency));
  const now = scene.now();
  return [...frequencies].map((frequency) => ({ ...payroll, frequency, ...calendarOf(frequency, now) }));
}

/** Returns the employer's employees whose pay frequency is not the usual one. */
function othersOf({ stage }: Scene, { employerId, frequency }: DemoPayroll) {
  const { employees = [] } = stage.censuses.get(employerId) ?? {};
  return employees.filter((employee) => employee.pay_frequency !== frequency);
}

async function putSchedules({ stage }: Scene, [first, ...others]: readonly [DemoPayroll, ...DemoPayroll[]]) {
  const schedules = [first, ...others].map(({ frequency, payDates }) => ({
    pay_frequency: frequency,
    pay_group: null,
    pay_dates: payDates,
    year_in_fewer_checks: false,
  }));
  const path = `/v1/employers/${encodeURIComponent(first.employerId)}/pay-schedules`;
  for (const { year, schedules: ofYear } of byYear(schedules).years)
    await stage.api.send('PUT', `${path}/${year}`, { schedules: ofYear });
}

/** Takes deductions that are in effect when the pay period ends. */
async function putPolicy({ stage, show }: Scene, { employerId, first }: DemoPayroll): Promise<void> {
  const policy = {
    effective_from: `${first.pay_date.slice(0, 'YYYY'.length)}-01-01`,
    applies_on: 'period_end',
  };
  await stage.api.send('PUT', `/v1/employers/${encodeURIComponent(employerId)}/payroll-policy`, policy);
  show(`Its payroll policy from ${policy.effective_from}: applies on period_end.`);
}

function openOf(checks: readonly CheckResult[]): [string, string, string[]][] {
  const open = checks.filter(({ result }) => result !== 'pass');
  return open.map(({ id, result, findings }) => [id, result, findings.map(({ text = '' }) => text)]);
}

async function expectReady({ stage, confirm }: Scene, run: PayrollRun): Promise<void> {
  const { checks } = await stage.api.get<ReadinessReport>(`${pathOf(run)}/readiness`);
  expectEqual(`checks of ${run.id} that do not pass`, openOf(checks), []);
  confirm(`All ${checks.length} readiness checks pass.`);
}

async function adjust(scene: Scene): Promise<void> {
  const { stage, show, confirm } = scene;
  for (const payroll of payrollsOf(scene)) {
    const { employerId, corrected, first, second } = payroll;
    if (payroll.others === 'accepted') await scheduleOthers(scene, payroll);
    const firstId = runIdOf(employerId, first);
    const paid = (await linesOf(scene, { id: firstId })).find((line) => line.line_of_coverage === 'medical');
    if (paid === undefined) throw new StepFailed(`a medical line in ${firstId}`, 'none');
    show(`${firstId} took medical of ${paid.employee_id} at ${dollars(paid.member_contribution ?? '')}.`);
    show(`A correction arrives: it was ${dollars(corrected)} from its first day.`);
    const { simulator } = stage;
    await simulator.send(simulator.changeDeduction(paid.deduction_id, { member_contribution: corrected }));
    await allApplied(stage);

    await takeOpenItems(scene, employerId);
    const run = await putRun(scene, payroll, second);
    const lines = await linesOf(scene, run);
    const adjustments = lines.filter((line) => line.kind === 'adjustment');
    const [adjustment] = adjustments;
    expectEqual(
      'the adjustments',
      adjustments.map((line) => [line.deduction_id, line.adjustment_for]),
      [[paid.deduction_id, firstId]],
    );
    for (const line of lines)
      if (line.kind !== 'regular' || line.change !== 'same') printDemoLine(show, line);
    const due = adjustment?.member_amount ?? '';
    const settled = due.startsWith('-')
      ? `${dollars(due.slice(1))} too much was taken. This run returns it.`
      : `${dollars(due)} too little was taken. This run takes it.`;
    confirm(settled);
    scene.summarize(`${paid.employee_id}: ${settled}`);
    await finalize(scene, run, lines);
    if (payroll.others === 'accepted') await runOthers(scene, payroll);

    const verified = await stage.api.get<Verification>(`/v1/payroll-runs/${firstId}/verify`);
    const differences = JSON.stringify(verified.differences);
    expect(verified.identical, `${firstId} to be recomputed as it was finalized`, differences);
    const compared = counted(verified.lines, 'line');
    confirm(`${firstId}, recomputed from its ledger position, is identical: ${compared}.`);
  }
  scene.summarize('Each first run, recomputed from its ledger position, is identical.');
}

/** Decides to take the open items of an employer with the next paycheck, as a person does in the console. */
async function takeOpenItems({ stage, show }: Scene, employerId: string): Promise<void> {
  const path = `/v1/employers/${encodeURIComponent(employerId)}/open-items`;
  const items = await stage.api.list<ShownItem>(path);
  for (const { kind, explanation } of items) show(`Open item, ${kind}: ${explanation}`);
  const decisions = items.map(({ id, outstanding_member_amount, outstanding_employer_amount }) => {
    return { item_id: id, action: 'take', outstanding_member_amount, outstanding_employer_amount };
  });
  await stage.api.send('POST', `${path}/decisions`, { decisions, reason: 'the employee agreed' });
  show(`A person decides to take ${counted(items.length, 'item')} with the next paycheck.`);
}

function runIdOf(name: string, { pay_date }: PayDate): string {
  return `${name}-${pay_date}`;
}

function pathOf({ id }: Pick<PayrollRun, 'id'>): string {
  return `/v1/payroll-runs/${id}`;
}

async function putRun(
  { stage, show }: Scene,
  { employerId, frequency }: DemoPayroll,
  date: PayDate,
  name = employerId,
): Promise<PayrollRun> {
  const { takes: _, ...period } = date;
  const body = { employer_id: employerId, pay_frequency: frequency, ...period };
  const id = runIdOf(name, date);
  const run = await stage.api.send<PayrollRun>('PUT', pathOf({ id }), body);
  const employees = counted(run.employees, 'employee');
  show(`Run ${id} for ${date.period_start} to ${date.period_end}: ${employees}.`);
  return run;
}

function linesOf({ stage }: Scene, run: Pick<PayrollRun, 'id'>): Promise<LineRecord[]> {
  return stage.api.list<LineRecord>(`${pathOf(run)}/lines`);
}

/**
 * Finalizes exactly the reviewed lines, after checking the run's totals against them. With `isAccepting`, accepts the
 * failed check by name, with a reason, for the report that was read. Returns the totals as text.
 */
async function finalize(
  { stage, show, confirm }: Scene,
  { id }: PayrollRun,
  lines: readonly LineRecord[],
  isAccepting = false,
): Promise<string> {
  const open = await stage.api.get<PayrollRun>(pathOf({ id }));
  const sum = (amounts: string[]) => amountOf(amounts.reduce((total, amount) => total + centsOf(amount), 0n));
  expectEqual(
    `the totals of ${id}`,
    [open.totals.member_amount, open.totals.employer_amount],
    [sum(lines.map((line) => line.member_amount)), sum(lines.map((line) => line.employer_amount))],
  );
  if (isAccepting) show(`Payroll accepts ${NOT_SCHEDULED} by name: "${REASON}".`);
  const body = isAccepting ? { accept: [NOT_SCHEDULED], reason: REASON } : {};
  const readiness = `${pathOf({ id })}/readiness`;
  const { etag } = isAccepting ? await stage.api.get<ReadinessReport>(readiness) : open;
  const run = await stage.api.send<PayrollRun>('POST', `${pathOf({ id })}/finalize`, body, etag);
  expectEqual(`the state of ${id}`, run.state, 'finalized');
  expectEqual(`the checks accepted for ${id}`, run.accepted_checks, body.accept ?? []);
  const { member_amount, employer_amount } = run.totals;
  confirm(`Finalized: employees pay ${dollars(member_amount)}, the employer ${dollars(employer_amount)}.`);
  return `employees ${dollars(member_amount)}, employer ${dollars(employer_amount)}`;
}

/** Prints a line of a run with its flags and the explanation of each amount. */
function printDemoLine(show: Scene['show'], line: LineRecord): void {
  const { employee_id, line_of_coverage, member_amount, employer_amount, flags } = line;
  const what = line.kind === 'regular' ? changeOf(line) : line.kind;
  const [member, employer] = [member_amount, employer_amount].map((amount) => dollars(amount).padStart(9));
  show(`${employee_id}  ${line_of_coverage.padEnd(8)}${member} +${employer}  ${what}`);
  const sentences = [...sentencesOf(line), ...(flags.length > 0 ? [`flags: ${flags.join(', ')}`] : [])];
  for (const sentence of sentences) show(sentence, 8);
}
