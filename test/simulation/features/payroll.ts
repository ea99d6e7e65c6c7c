/** Payroll runs: specialists set schedules, finalize each pay date, void some runs, and report what was taken. */
import { byYear } from '../../../src/payroll/settings/schedules.ts';
import type { Random } from '../../../src/simulator/random.ts';
import type { Response } from '../machine.ts';
import { agreesWithModel } from '../payroll-model.ts';
import type { Simulation } from '../simulation.ts';
import { daysAfter, type Employer, type Frequency } from '../world.ts';
import { approve, type SimulatedRun } from './approvals.ts';
import { overrideLine } from './decisions.ts';
import type { Feature } from './features.ts';
import { callAs, hasPeople } from './people.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** A run that cannot be finalized by then is left open. */
const TRIES = 12;

/** Pay dates before the start that are run, too. */
const BACKFILLED = 3;

const STEPS = { biweekly: 14, weekly: 7 } as const;

const FINAL_RUNS = "select run_id as id from payroll_runs where state <> 'open'";

export const PAYROLL: Feature = {
  plan(simulation) {
    for (const employer of simulation.world.employers) {
      const draw = simulation.random('payroll', employer.id);
      setUp(simulation, employer, draw);
      for (const frequency of employer.frequencies) planRuns(simulation, employer, frequency, draw);
    }
  },
  invariants: [
    { promise: 8, name: 'a finalized run has the lines of the payroll model', broken: agreesWithModel },
  ],
  situations: {
    'finalized run': "select 1 from payroll_runs where state = 'finalized' limit 1",
    'voided run': "select 1 from payroll_runs where state = 'voided' limit 1",
    'missed check': "select 1 from run_employees where lines like '%missed_check%' limit 1",
    adjustment: "select 1 from run_settlements where kind = 'adjustment' limit 1",
    arrears: "select 1 from run_settlements where kind = 'arrears' limit 1",
    'settlement of a voided run':
      "select 1 from run_settlements where settles in (select run_id from payroll_runs where state = 'voided') limit 1",
    'voided settlement':
      "select 1 from run_settlements join payroll_runs using (freeze_id) where state = 'voided' limit 1",
    'pay dates of two years':
      "select 1 from payroll_runs where state = 'finalized' and pay_date > '2027' limit 1",
  },
};

function setUp(simulation: Simulation, employer: Employer, draw: Random): void {
  const url = `/v1/employers/${employer.id}`;
  const schedules = employer.frequencies.map((pay_frequency) => ({
    pay_frequency,
    pay_group: null,
    pay_dates: datesOf(pay_frequency),
  }));
  const options = {
    adjustments: draw() < 0.7 ? 'include' : 'decided',
    arrears: draw() < 0.5 ? 'include' : 'decided',
    recoup: [{ method: 'all' }, { method: 'multiple', value: '1.5' }, { method: 'amount', value: '40.00' }][
      Math.floor(draw() * 3)
    ],
    remainder: ['last', 'spread', 'none'][Math.floor(draw() * 3)],
    applies_on: draw() < 0.7 ? 'pay_date' : 'period_end',
    scheme: ['annualized', 'annualized', 'month-even', 'first-checks'][Math.floor(draw() * 4)],
  };
  for (const { year, schedules: ofYear } of byYear(schedules).years) {
    simulation.persist('schedule', async () => {
      const body = { schedules: ofYear };
      return isDone(
        simulation,
        await simulation.machine.call('PUT', `${url}/pay-schedules/${year}`, body),
        200,
      );
    });
  }
  simulation.persist('policy', async () => {
    const body = { effective_from: '2025-01-01', ...options };
    return isDone(simulation, await simulation.machine.call('PUT', `${url}/payroll-policy`, body), 200);
  });
}

/** Returns whether a request succeeded. A refusal of its content is a breach: the simulation sends correct requests. */
function isDone(simulation: Simulation, response: Response | null, status: number): boolean {
  if (response?.status === 422) simulation.breach(`refused: ${JSON.stringify(response.body)}`);
  return response?.status === status;
}

/** Returns the stepped pay dates of three whole years, which the model assumes, too. */
export function datesOf(frequency: Frequency) {
  const dates: { pay_date: string; period_start: string; period_end: string }[] = [];
  const days = STEPS[frequency];
  for (let date = '2025-01-03'; date < '2028'; date = daysAfter(date, days)) {
    // The model takes the pay date for the last day of the period.
    const period = { period_start: daysAfter(date, 1 - days), period_end: date };
    dates.push({ pay_date: date, ...period });
  }
  return dates;
}

function planRuns(simulation: Simulation, employer: Employer, frequency: Frequency, draw: Random): void {
  const { time, restFrom } = simulation;
  for (const date of datesOf(frequency)) {
    // All employers of a day work at once, as on a Wednesday before pay day.
    const at =
      Date.parse(`${daysAfter(date.pay_date, -2)}T15:00:00Z`) + draw() * (draw() < 0.5 ? 0 : HOUR_MS);
    const own = simulation.random('run', employer.id, frequency, date.pay_date);
    if (at < time.now() - BACKFILLED * STEPS[frequency] * DAY_MS || at > restFrom - HOUR_MS) continue;
    // Payroll brings its last dates along once the elections have arrived.
    const wait = Math.max(at, time.now() + 3 * DAY_MS) - time.now();
    const body = { employer_id: employer.id, pay_frequency: frequency, ...date };
    const run = { runId: `${employer.id}-${frequency}-${date.pay_date}`, employerId: employer.id, body };
    time.after(wait, 'run', () => begin(simulation, run, own));
  }
}

/** Creates a run, perhaps overrides an amount, and finalizes it. An off-cycle run may be refused. */
export function begin(simulation: Simulation, run: SimulatedRun, draw: Random): void {
  const { runId, employerId, body } = run;
  simulation.persist('run', async () => {
    const url = `/v1/payroll-runs/${runId}`;
    const response = await callAs(simulation, employerId, 'specialist', 'PUT', url, body);
    // An item may be taken or decided after it was listed, and the pay date may have another open run.
    if ((response?.status === 422 && 'items' in body) || response?.status === 409) return true;
    if (!isDone(simulation, response, 201) && !isDone(simulation, response, 200)) return false;
    if (draw() < 0.15) await overrideLine(simulation, run, draw);
    finalize(simulation, run, draw, TRIES);
    return true;
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
  const readiness = await callAs(simulation, employerId, 'manager', 'GET', `${url}/readiness`);
  if (readiness?.status === 409) return 'over';
  if (readiness?.status !== 200) return 'again';
  const { checks } = readiness.body as { checks: { id: string; result: string }[] };
  const accept = checks.filter(({ result }) => result === 'fail').map(({ id }) => id);
  const accepting = accept.length === 0 ? {} : { accept, reason: 'reviewed in the simulation' };
  const match = { 'if-match': String(readiness.headers.etag) };
  await approve(simulation, run, { action: 'finalize', accept }, match, draw);
  const headers = { ...match, 'idempotency-key': `finalize-${runId}` };
  // A client repeats a request whose response is late, and another sidecar may get the second one.
  const requests = Array.from({ length: draw() < 0.5 ? 2 : 1 }, () =>
    callAs(simulation, employerId, 'manager', 'POST', `${url}/finalize`, accepting, headers),
  );
  const response = (await Promise.all(requests)).find((one) => one?.status === 200);
  if (response === undefined) return 'again';
  simulation.confirm(FINAL_RUNS, runId);
  simulation.count('runs finalized');
  return 'final';
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
  simulation.persist('void', async () => {
    const url = `/v1/payroll-runs/${runId}/void`;
    const body = { reason: 'a mistake in the simulation' };
    if (hasPeople(simulation, employerId)) {
      const refused = await callAs(simulation, employerId, 'specialist', 'POST', url, body);
      if (refused?.status === 200) simulation.breach(`a specialist voided ${runId}`);
      await approve(simulation, run, { action: 'void' }, {}, draw);
    }
    const response = await callAs(simulation, employerId, 'manager', 'POST', url, body);
    const isMissing = String((response?.body as { type?: string } | null)?.type).endsWith('approval-missing');
    if (isMissing || (response?.status !== 200 && response?.status !== 409)) return false;
    if (draw() < 0.9 && !('items' in run.body)) begin(simulation, { ...run, runId: `${runId}-again` }, draw);
    return true;
  });
}

async function taken(
  simulation: Simulation,
  { runId, employerId }: SimulatedRun,
  draw: Random,
): Promise<void> {
  type Lines = { data: { employee_id: string; deduction_id: string; kind: string; member_amount: string }[] };
  const url = `/v1/payroll-runs/${runId}`;
  const response = await callAs(simulation, employerId, 'specialist', 'GET', `${url}/lines?limit=100`);
  if (response?.status !== 200) return;
  const lines = (response.body as Lines).data.filter(({ kind }) => kind === 'regular' && draw() < 0.3);
  if (lines.length === 0) return;
  const rows = lines.map(({ employee_id, deduction_id, member_amount }) => ({
    ...{ employee_id, deduction_id, kind: 'regular' },
    amount: draw() < 0.5 ? '0.00' : member_amount,
  }));
  const body = JSON.stringify({ lines: rows });
  const headers = { 'content-type': 'application/json' };
  simulation.persist('taken', async () => {
    const reported = await callAs(
      simulation,
      employerId,
      'specialist',
      'POST',
      `${url}/taken`,
      body,
      headers,
    );
    return reported?.status === 200 || reported?.status === 409;
  });
}
