/** The steps of the demo from the ledger to final payroll runs. */
import type { ReadinessReport } from '../../checks.ts';
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
import { expect, expectEqual, type Scene, type Stage, type Step, StepFailed } from './stage.ts';

export const PAYROLL_STEPS: readonly Step[] = [
  { title: 'Payroll computes, reviews and finalizes a run for each employer', play: runPayroll },
  { title: 'A deduction changes for a past pay period: the next run adjusts it', play: adjust },
];

/** How an employer pays most of its employees, and the corrected medical premium of one of them. */
const PLANS: readonly { frequency: PayFrequency; corrected: string }[] = [
  { frequency: 'monthly', corrected: '171.00' },
  { frequency: 'biweekly', corrected: '215.94' },
];

type DemoPayroll = Calendar & { employerId: string; frequency: PayFrequency; corrected: string };

/** Returns the payrolls of each employer, one for each pay frequency of its employees, the usual one first. */
function payrollsOf({ stage, now }: Scene): [usual: DemoPayroll, ...others: DemoPayroll[]][] {
  return [...stage.censuses].map(([employerId, { employees }], nth) => {
    const { frequency, corrected } = PLANS[nth % PLANS.length] as (typeof PLANS)[number];
    const payroll = (of: PayFrequency) => ({
      ...{ employerId, frequency: of, corrected },
      ...calendarOf(of, now()),
    });
    const others = new Set(employees.flatMap(({ pay_frequency: of }) => of ?? []));
    others.delete(frequency);
    return [payroll(frequency), ...[...others].map(payroll)];
  });
}

async function runPayroll(scene: Scene): Promise<void> {
  for (const payrolls of payrollsOf(scene)) {
    const [usual] = payrolls;
    const { employerId, first } = usual;
    await putSchedules(scene, employerId, [usual]);
    // Takes deductions that are in effect when the pay period ends.
    const policy = { effective_from: `${first.pay_date.slice(0, 4)}-01-01`, applies_on: 'period_end' };
    await scene.stage.api.send('PUT', `${pathOfEmployer(employerId)}/payroll-policy`, policy);
    await expectLeftOut(scene, await putRun(scene, usual, first), usual);
    await putSchedules(scene, employerId, payrolls);
    const taken = { member: 0n, employer: 0n };
    for (const payroll of payrolls) {
      const run = await putRun(scene, payroll, payroll.first);
      const lines = await linesOf(scene, run);
      for (const line of lines) printDemoLine(scene.show, line);
      const unexplained = lines.filter(({ explanation }) => explanation === '');
      expectEqual('lines without an explanation', unexplained, []);
      const { member_amount, employer_amount } = await finalize(scene, run, lines);
      taken.member += centsOf(member_amount);
      taken.employer += centsOf(employer_amount);
    }
    const [member, employer] = [taken.member, taken.employer].map((cents) => dollars(amountOf(cents)));
    const runs = counted(payrolls.length, 'run');
    scene.confirm(`${employerId}: ${runs}, employees pay ${member}, the employer ${employer}.`);
  }
}

/** Checks that every employee with another pay frequency is named, with the reason, and fails readiness. */
async function expectLeftOut({ stage, show, confirm }: Scene, run: PayrollRun, usual: DemoPayroll) {
  const { employees = [] } = stage.censuses.get(usual.employerId) ?? {};
  const others = employees.filter(({ pay_frequency }) => pay_frequency !== usual.frequency);
  const ids = others.map(({ employee_id }) => employee_id);
  for (const { employee_id, reason } of run.not_in_run) show(`Not in the run: ${employee_id} (${reason}).`);
  expectEqual(
    'employees not in the run',
    run.not_in_run.map(({ employee_id, reason }) => [employee_id, reason]),
    ids.map((id) => [id, 'other_frequency']),
  );
  const { checks } = await stage.api.get<ReadinessReport>(`${pathOf(run)}/readiness`);
  const open = checks.filter(({ result }) => result !== 'pass');
  expectEqual(
    'checks that do not pass',
    open.map(({ id, result, findings }) => [id, result, findings.map(({ text = '' }) => text)]),
    [['employees-not-scheduled', 'fail', ids]],
  );
  confirm(`${usual.employerId}: ${counted(ids.length, 'employee')} in no run until schedules are added.`);
}

async function adjust(scene: Scene): Promise<void> {
  const { simulator, api } = scene.stage;
  for (const [payroll] of payrollsOf(scene)) {
    const { employerId, corrected, first, second } = payroll;
    const firstId = runIdOf(payroll, first);
    const paid = (await linesOf(scene, { id: firstId })).find((line) => line.line_of_coverage === 'medical');
    if (paid === undefined) throw new StepFailed(`a medical line in ${firstId}`, 'none');
    const { deduction_id, employee_id, member_contribution } = paid;
    scene.show(`${firstId} took medical of ${employee_id} at ${dollars(member_contribution ?? '')}.`);
    scene.show(`A correction arrives: it was ${dollars(corrected)} from its first day.`);
    await simulator.send(simulator.changeDeduction(deduction_id, { member_contribution: corrected }));
    await allApplied(scene.stage);

    await takeOpenItems(scene, employerId);
    const run = await putRun(scene, payroll, second);
    const lines = await linesOf(scene, run);
    const adjustments = lines.filter((line) => line.kind === 'adjustment');
    expectEqual(
      'the adjustments',
      adjustments.map((line) => [line.deduction_id, line.adjustment_for]),
      [[deduction_id, firstId]],
    );
    for (const line of lines)
      if (line.kind !== 'regular' || line.change !== 'same') printDemoLine(scene.show, line);
    await finalize(scene, run, lines);
    const due = adjustments[0]?.member_amount ?? '';
    const settled = due.startsWith('-')
      ? `${dollars(due.slice(1))} too much was taken. This run returns it.`
      : `${dollars(due)} too little was taken. This run takes it.`;
    scene.confirm(`${employee_id}: ${settled}`);

    const verified = await api.get<Verification>(`/v1/payroll-runs/${firstId}/verify`);
    const differences = JSON.stringify(verified.differences);
    expect(verified.identical, `${firstId} to be recomputed as it was finalized`, differences);
  }
  scene.confirm('Each first run, recomputed from its ledger position, is identical.');
}

function pathOfEmployer(employerId: string): string {
  return `/v1/employers/${encodeURIComponent(employerId)}`;
}

async function putSchedules({ stage, show }: Scene, employerId: string, payrolls: readonly DemoPayroll[]) {
  const schedules = payrolls.map(({ frequency, payDates }) => ({
    ...{ pay_frequency: frequency, pay_group: null },
    ...{ pay_dates: payDates, year_in_fewer_checks: false },
  }));
  for (const { year, schedules: ofYear } of byYear(schedules).years)
    await stage.api.send('PUT', `${pathOfEmployer(employerId)}/pay-schedules/${year}`, { schedules: ofYear });
  show(`${employerId} pays ${payrolls.map(({ frequency }) => frequency).join(', ')}.`);
}

/** Decides to take the open items of an employer with the next paycheck, as a person does in the console. */
async function takeOpenItems({ stage, show }: Scene, employerId: string): Promise<void> {
  const path = `${pathOfEmployer(employerId)}/open-items`;
  const items = await stage.api.list<ShownItem>(path);
  for (const { kind, explanation } of items) show(`Open item, ${kind}: ${explanation}`);
  const decisions = items.map(({ id, outstanding_member_amount, outstanding_employer_amount }) => {
    return { item_id: id, action: 'take', outstanding_member_amount, outstanding_employer_amount };
  });
  await stage.api.send('POST', `${path}/decisions`, { decisions, reason: 'the employee agreed' });
  show(`A person decides to take ${counted(items.length, 'item')} with the next paycheck.`);
}

function runIdOf({ employerId, frequency }: DemoPayroll, { pay_date }: PayDate): string {
  return `${employerId}-${frequency}-${pay_date}`;
}

function pathOf({ id }: Pick<PayrollRun, 'id'>): string {
  return `/v1/payroll-runs/${id}`;
}

async function putRun({ stage, show }: Scene, payroll: DemoPayroll, date: PayDate): Promise<PayrollRun> {
  const { takes: _, ...period } = date;
  const body = { employer_id: payroll.employerId, pay_frequency: payroll.frequency, ...period };
  const id = runIdOf(payroll, date);
  const run = await stage.api.send<PayrollRun>('PUT', pathOf({ id }), body);
  const employees = counted(run.employees, 'employee');
  show(`Run ${id} for ${date.period_start} to ${date.period_end}: ${employees}.`);
  return run;
}

function linesOf({ stage }: { stage: Stage }, run: Pick<PayrollRun, 'id'>): Promise<LineRecord[]> {
  return stage.api.list<LineRecord>(`${pathOf(run)}/lines`);
}

/** Finalizes exactly the reviewed lines, after checking readiness and the run's totals. Returns the totals. */
async function finalize({ stage }: Scene, { id }: PayrollRun, lines: readonly LineRecord[]) {
  const { checks } = await stage.api.get<ReadinessReport>(`${pathOf({ id })}/readiness`);
  const open = checks.filter(({ result }) => result !== 'pass').map((check) => check.id);
  expectEqual(`checks of ${id} that do not pass`, open, []);
  const { totals, etag } = await stage.api.get<PayrollRun>(pathOf({ id }));
  const sum = (amounts: string[]) => amountOf(amounts.reduce((total, amount) => total + centsOf(amount), 0n));
  expectEqual(
    `the totals of ${id}`,
    [totals.member_amount, totals.employer_amount],
    [sum(lines.map((line) => line.member_amount)), sum(lines.map((line) => line.employer_amount))],
  );
  const run = await stage.api.send<PayrollRun>('POST', `${pathOf({ id })}/finalize`, {}, etag);
  expectEqual(`the state of ${id}`, run.state, 'finalized');
  return totals;
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
