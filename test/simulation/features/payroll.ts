/** Payroll runs: specialists set schedules, finalize each pay date, void some runs, and report what was taken. */
import { between, pick, type Random } from '../../../src/simulator/random.ts';
import { FIRST_RUNS_MS } from '../faults.ts';
import type { Response } from '../machine.ts';
import { agreesWithModel } from '../payroll-model.ts';
import type { Simulation } from '../simulation.ts';
import { DAY_MS, HOUR_MS } from '../time.ts';
import { daysAfter, type Employer, type Frequency } from '../world.ts';
import { approve, type SimulatedRun } from './approvals.ts';
import { overrideLine, regularLines } from './decisions.ts';
import type { Feature } from './features.ts';
import { withFinalChecks } from './final-checks.ts';
import { hasPeople, peopleOf } from './people.ts';
import { currentDates, mayGo, possibleDates, setSchedules } from './schedules.ts';

/** A run that cannot be finalized by then is left open. */
const TRIES = 12;

/** A client repeats a request within this time, about as long as finalizing takes. */
const REPEAT_MS = 20;
/** Three pay dates before the start are run, too. */
const BACKFILLED_MS = { biweekly: 42 * DAY_MS, weekly: 21 * DAY_MS };

const FINAL_RUNS = "select run_id as id from payroll_runs where state <> 'open'";

const TAKEN_LINES = `select run_id || ',' || report || ',' || employee_id || ',' || line || ',' || amount as id
  from taken_lines join taken_reports using (run_id, report) where recorded_at is not null`;

export const PAYROLL: Feature = {
  plan(simulation) {
    for (const employer of simulation.world.employers) {
      const draw = simulation.random('payroll', employer.id);
      setUp(simulation, employer, draw);
      for (const frequency of employer.frequencies) planRuns(simulation, employer, frequency, draw);
    }
  },
  invariants: { 'a finalized run has the lines of the payroll model': agreesWithModel },
  situations: {
    'finalized run': "payroll_runs where state = 'finalized'",
    'voided run': "payroll_runs where state = 'voided'",
    'missed check': "run_employees where lines like '%missed_check%'",
    adjustment: "run_settlements where settles like 'adjustment:%' or settles like 'missed_check:%'",
    arrears: "run_settlements where settles like 'arrears:%'",
    'settlement of a voided run':
      "run_settlements where earlier_run_id in (select run_id from payroll_runs where state = 'voided')",
    'voided settlement': "run_settlements join payroll_runs using (freeze_id) where state = 'voided'",
    'second report of amounts taken of a line': `taken_lines as first join taken_lines as second
      on second.run_id = first.run_id and second.employee_id = first.employee_id and second.line = first.line
      and second.report > first.report and second.amount <> first.amount`,
    'acceptance that a later run keeps': `accepted_findings as first join accepted_findings as kept
      on kept.record_id = first.record_id and kept.check_id = first.check_id and kept.run_id <> first.run_id`,
    'pay dates of two years': "payroll_runs where state = 'finalized' and pay_date > '2027'",
  },
};

const RECOUPING = [
  { method: 'all' },
  { method: 'multiple', value: '1.5' },
  { method: 'amount', value: '40.00' },
];

function setUp(simulation: Simulation, employer: Employer, draw: Random): void {
  const url = `/v1/employers/${employer.id}`;
  const options = {
    open_items: draw() < 0.7 ? 'include' : 'decided',
    recoup: pick(draw, RECOUPING),
    applies_on: pick(draw, ['pay_date', 'pay_date', 'period_end', 'next_month']),
  };
  const { machine, persist } = simulation;
  setSchedules(simulation, employer);
  const policy = { effective_from: '2025-01-01', ...options };
  persist('policy', () => machine.call('PUT', `${url}/payroll-policy`, policy), [200]);
}

function planRuns(simulation: Simulation, employer: Employer, frequency: Frequency, draw: Random): void {
  const { time, restFrom } = simulation;
  for (const payDate of possibleDates(frequency)) {
    // All employers of a day work at once, as on a Wednesday before pay day.
    const at = Date.parse(`${daysAfter(payDate, -2)}T15:00:00Z`) + draw() * (draw() < 0.5 ? 0 : HOUR_MS);
    if (at < time.now() - BACKFILLED_MS[frequency] || at > restFrom - HOUR_MS) continue;
    // Payroll brings its last dates along once the elections have arrived.
    const wait = Math.max(at - time.now(), FIRST_RUNS_MS);
    time.after(wait, 'run', () => beginOn(simulation, employer.id, frequency, payDate));
  }
}

/** Creates the run of a pay date that the schedule has now. */
function beginOn(simulation: Simulation, employer_id: string, pay_frequency: Frequency, payDate: string) {
  const dates = currentDates(simulation, employer_id, pay_frequency);
  if (dates === null) {
    simulation.time.after(HOUR_MS, 'run', () => beginOn(simulation, employer_id, pay_frequency, payDate));
    return;
  }
  const date = dates.find(({ pay_date }) => pay_date === payDate);
  if (date === undefined) return;
  const { takes: _, ...period } = date;
  const body = { employer_id, pay_frequency, ...period };
  const run = { runId: `${employer_id}-${pay_frequency}-${payDate}`, employerId: employer_id, body };
  const draw = simulation.random('run', employer_id, pay_frequency, payDate);
  begin(simulation, withFinalChecks(simulation, run, draw), draw);
}

/** Creates a run, perhaps overrides an amount, and finalizes it. An off-cycle run may be refused. */
export function begin(simulation: Simulation, run: SimulatedRun, draw: Random): void {
  const { runId, employerId, body } = run;
  const { specialist } = peopleOf(simulation, employerId);
  const hasFinalChecks = 'final_checks' in body;
  // An item may be taken or decided after it was listed. The pay date may have another open run, or be dropped.
  const { pay_frequency, pay_date } = body as { pay_frequency: Frequency; pay_date: string };
  const isMovable = mayGo(pay_frequency, pay_date);
  const refused = 'items' in body || hasFinalChecks || isMovable ? [409, 422] : [409];
  const create = () => specialist('PUT', `/v1/payroll-runs/${runId}`, body);
  simulation.persist('run', create, [200, 201, ...refused], async ({ status }) => {
    if (status === 422 && hasFinalChecks) {
      // The employee did not leave after all.
      const { final_checks: _, ...others } = body;
      return begin(simulation, { ...run, body: others }, draw);
    }
    if (refused.includes(status)) return;
    if (draw() < 0.15) await overrideLine(simulation, run, draw);
    finalize(simulation, run, draw, TRIES);
  });
}

function finalize(simulation: Simulation, run: SimulatedRun, draw: Random, tries: number): void {
  const { time } = simulation;
  void tryToFinalize(simulation, run, draw).then((state) => {
    if (state === 'final') return afterwards(simulation, run, draw);
    if (state === 'again' && tries > 1) {
      const wait = draw() < 0.5 ? 1_000 : draw() * HOUR_MS;
      time.after(wait, 'finalize', () => finalize(simulation, run, draw, tries - 1));
    }
  });
}

/** Reviews the readiness of a run and finalizes it with what fails accepted. */
async function tryToFinalize(
  simulation: Simulation,
  run: SimulatedRun,
  draw: Random,
): Promise<'final' | 'again' | 'over'> {
  const { runId, employerId } = run;
  const url = `/v1/payroll-runs/${runId}`;
  const { manager } = peopleOf(simulation, employerId);
  const readiness = await manager('GET', `${url}/readiness`);
  if (readiness?.status === 409) return 'over';
  if (readiness?.status !== 200) return 'again';
  const { checks } = readiness.body as { checks: Check[] };
  const accept = checks.filter(({ result }) => result === 'fail').map(({ id }) => id);
  const accepting = accept.length === 0 ? {} : { accept, reason: 'reviewed in the simulation' };
  const match = { 'if-match': String(readiness.headers.etag) };
  await approve(simulation, run, { action: 'finalize', accept }, match, draw);
  const headers = { ...match, 'idempotency-key': `finalize-${runId}` };
  const post = () => manager('POST', `${url}/finalize`, accepting, headers);
  // A client repeats a request whose response is late, and another sidecar may get the repeat.
  const repeats = Array.from({ length: draw() < 0.5 ? between(draw, 1, 2) : 0 }, async () => {
    await simulation.time.pass(draw() * REPEAT_MS);
    return post();
  });
  const responses = await Promise.all([post(), ...repeats]);
  if (!responses.some((response) => response?.status === 200)) return 'again';
  simulation.confirm(FINAL_RUNS, runId);
  simulation.count('runs finalized');
  const findings = await manager('GET', `${url}/findings`);
  if (findings?.status === 200) {
    const { findings: kept } = findings.body as { findings: { check: string; accepted_at: string }[] };
    keepsShown(simulation, runId, checks, kept);
  }
  return 'final';
}

type Check = { id: string; result: string; accepted: { accepted_at: string }[] };

/** Checks that a final run has the remembered findings of its report. Those of this check rest on its lines alone. */
function keepsShown(
  { breach }: Simulation,
  runId: string,
  checks: readonly Check[],
  kept: readonly { check: string; accepted_at: string }[],
): void {
  const shown = checks.find(({ id }) => id === 'overlap')?.accepted ?? [];
  const left = kept.filter(({ check }) => check === 'overlap').map(({ accepted_at }) => accepted_at);
  for (const { accepted_at } of shown) {
    const place = left.indexOf(accepted_at);
    if (place === -1) breach(`${runId} lacks a finding that its report showed as accepted`);
    left.splice(place, 1);
  }
}

/** Reports what payroll took, or voids the run and makes another one. */
function afterwards(simulation: Simulation, run: SimulatedRun, draw: Random): void {
  const { time } = simulation;
  const kind = draw();
  if (kind < 0.25) time.after(draw() * 3 * DAY_MS, 'taken', () => taken(simulation, run, draw));
  else if (kind < 0.6) time.after(draw() * 5 * DAY_MS, 'void', () => voidRun(simulation, run, draw));
}

function voidRun(simulation: Simulation, run: SimulatedRun, draw: Random): void {
  const { runId, employerId } = run;
  const { specialist, manager } = peopleOf(simulation, employerId);
  const url = `/v1/payroll-runs/${runId}/void`;
  const body = { reason: 'a mistake in the simulation' };
  const request = async (): Promise<Response | null> => {
    if (hasPeople(simulation, employerId)) {
      const refused = await specialist('POST', url, body);
      if (refused?.status === 200) simulation.breach(`a specialist voided ${runId}`);
      await approve(simulation, run, { action: 'void' }, {}, draw);
    }
    const response = await manager('POST', url, body);
    const isMissing = String((response?.body as { type?: string } | null)?.type).endsWith('approval-missing');
    return isMissing ? null : response;
  };
  simulation.persist('void', request, [200, 409], () => {
    if (draw() < 0.9 && !('items' in run.body)) begin(simulation, { ...run, runId: `${runId}-again` }, draw);
  });
}

/** Reports what payroll took of some lines. A second report corrects some of them and names others. */
async function taken(
  simulation: Simulation,
  run: SimulatedRun,
  draw: Random,
  isSecond = false,
): Promise<void> {
  const lines = (await regularLines(simulation, run)).filter(() => draw() < (isSecond ? 0.6 : 0.3));
  if (lines.length === 0) return;
  const rows = lines.map(({ employee_id, deduction_id, member_amount }) => ({
    ...{ employee_id, deduction_id, kind: 'regular' },
    amount: draw() < 0.5 ? '0.00' : member_amount,
  }));
  const { specialist } = peopleOf(simulation, run.employerId);
  const url = `/v1/payroll-runs/${run.runId}/taken`;
  simulation.persist(
    'taken',
    () => specialist('POST', url, { lines: rows }),
    [200, 409],
    (response) => {
      if (response.status === 409) return;
      const { id } = response.body as { id: string };
      for (const { employee_id, deduction_id, amount } of rows)
        simulation.confirm(
          TAKEN_LINES,
          [run.runId, id, employee_id, `regular ${deduction_id}`, amount].join(),
        );
      if (!isSecond)
        simulation.time.after(draw() * 2 * DAY_MS, 'taken', () => taken(simulation, run, draw, true));
    },
  );
}
