/** Acceptances: payroll accepts the findings of a check in open runs of all employers, while facts change the findings. */
import { pick, type Random } from '../../../src/simulator/random.ts';
import type { Simulation } from '../simulation.ts';
import { MINUTE_MS } from '../time.ts';
import type { Feature } from './features.ts';
import { hasPeople, peopleOf } from './people.ts';
import { datesAfterRest } from './reviews.ts';

const READS_MOST_MS = 3 * MINUTE_MS;

/** A finding in a response. It has no `text` if the token may not see its data. */
type Shown = { check: string; text?: string; employee_id?: string; version?: number; event_id?: string };
type Open = Shown & { ids: string[]; result: string; acceptable: boolean };
type Accepted = Shown & { reason: string; accepted_by: object; accepted_at: string };

/** A request to accept reviewed findings. `person`: null for the payroll system. */
type Attempt = { runId: string; reason: string; person: string | null; check: string; findings: Open[] };

const attemptsIn = new WeakMap<Simulation, Attempt[]>();
const attemptsOf = (simulation: Simulation): Attempt[] => {
  const known = attemptsIn.get(simulation) ?? [];
  attemptsIn.set(simulation, known);
  return known;
};

const ACCEPTED = "audit_records where action = 'run.accept-findings'";
const CONFIRMED = `select resource_id || ' ' || reason as id from ${ACCEPTED}`;
const MADE = "accepted_findings join audit_records using (record_id) where action = 'run.accept-findings'";
const SEVERAL = 'findings accepted at several employers at once';
const OUTDATED = 'acceptance of findings that changed while they were read';
const AGAIN = 'check that fails again after its findings were accepted';

export const ACCEPTANCES: Feature = {
  plan(simulation) {
    const { days, schedule } = simulation;
    const draw = simulation.random('acceptances');
    schedule(0.2 + draw() * 0.1, 'acceptances', () => begin(simulation));
    for (let count = days; count > 0; count -= 1)
      schedule(0.3 + draw() * 0.7, 'accept', () => acceptEverywhere(simulation, count));
  },
  invariants: {
    'an acceptance has the reviewed findings, with the reason and the person of its request': unlikeRequest,
    'findings of an employer that requires a second approval are accepted only with it': `
      select resource_id from ${ACCEPTED} and (select required from approval_settings
        where employer_id = audit_records.employer_id and record_id < audit_records.record_id
        order by version desc limit 1) = 1`,
    'an acceptance counts in other runs only for the versions, events and dates that it names': `
      select kept.run_id, kept.check_id, kept.ids from accepted_findings as kept join audit_records using (record_id)
      where action = 'run.accept-findings' and kept.run_id <> resource_id and (kept.ids = '[]' or not exists (
        select 1 from accepted_findings as made where made.run_id = resource_id and made.record_id = kept.record_id
          and made.check_id = kept.check_id and made.employee_id is kept.employee_id and made.ids = kept.ids))`,
  },
  situations: {
    'acceptance without ids': `${MADE} and ids = '[]'`,
    'acceptance that a final run of another date keeps': `${MADE} and run_id <> resource_id`,
    [SEVERAL]: null,
    [OUTDATED]: null,
    [AGAIN]: null,
  },
};

const runOf = (employerId: string) => `${employerId}-accepted`;

/** Creates a run of each employer that is never finalized, for the date after that of the reviewed run. */
function begin(simulation: Simulation): void {
  const { world, persist, machine } = simulation;
  const [, date] = datesAfterRest(simulation);
  if (date === undefined) return;
  const { takes: _, ...period } = date;
  for (const { id: employer_id } of world.employers) {
    const body = { employer_id, pay_frequency: 'biweekly', ...period };
    const put = () => machine.call('PUT', `/v1/payroll-runs/${runOf(employer_id)}`, body);
    persist('accepted run', put, [200, 201]);
  }
}

/** The findings of an employer's run that can be accepted, and the ETag of their report. */
type Reading = { employerId: string; etag: string; acceptable: Open[] };

/** Reads the findings of all employers, and later accepts a check wherever it fails, as Home does. */
async function acceptEverywhere(simulation: Simulation, number: number): Promise<void> {
  const { world, time, saw } = simulation;
  const draw = simulation.random('accept', number);
  const readings: Reading[] = [];
  for (const { id } of world.employers) {
    const reading = await read(simulation, id);
    if (reading !== null) readings.push(reading);
  }
  const check = checkOf(readings, draw);
  if (check === null) return;
  if (draw() < 0.4) await time.pass(draw() * READS_MOST_MS);
  let accepted = 0;
  for (const reading of readings) {
    const findings = reading.acceptable.filter((finding) => finding.check === check);
    if (findings.length === 0) continue;
    const reason = `accepted in the simulation, ${number}`;
    if (await accept(simulation, reading, { check, findings, reason })) accepted += 1;
  }
  if (accepted > 1) saw(SEVERAL);
}

/** Returns a check with findings that can be accepted, most often a check that fails at several employers. */
function checkOf(readings: readonly Reading[], draw: Random): string | null {
  const checks = readings.flatMap(({ acceptable }) => [...new Set(acceptable.map(({ check }) => check))]);
  const shared = checks.filter((check, place) => checks.indexOf(check) !== place);
  const among = draw() < 0.7 && shared.length > 0 ? shared : checks;
  return among.length === 0 ? null : pick(draw, among);
}

/** Reads a report and its findings, and compares both with earlier acceptances. */
async function read(simulation: Simulation, employerId: string): Promise<Reading | null> {
  const { manager } = peopleOf(simulation, employerId);
  const url = `/v1/payroll-runs/${runOf(employerId)}`;
  if (!simulation.machine.isUp()) return null;
  const before = rowsOf(simulation, employerId);
  const readiness = await manager('GET', `${url}/readiness`);
  const listed = await manager('GET', `${url}/findings`);
  if (readiness?.status !== 200 || listed?.status !== 200 || !simulation.machine.isUp()) return null;
  const { findings: open } = listed.body as { findings: Open[] };
  const { checks } = readiness.body as { checks: { accepted: Accepted[] }[] };
  for (const finding of open) {
    if (finding.text === undefined) continue;
    if (before.some((row) => covers(row, finding)))
      simulation.breach(`${employerId}: a finding is open although it was accepted: ${textOf(finding)}`);
    if (before.some(({ check_id }) => check_id === finding.check)) simulation.saw(AGAIN);
  }
  const rows = [...before, ...rowsOf(simulation, employerId)];
  for (const accepted of checks.flatMap((check) => check.accepted)) {
    const { reason, accepted_by: _, accepted_at: __, ...shown } = accepted;
    if (shown.text === undefined || rows.some((row) => row.reason === reason && mayCover(row, shown)))
      continue;
    simulation.breach(`${employerId}: a finding is shown as accepted, but was not: ${textOf(shown)}`);
  }
  const acceptable = open.filter((finding) => finding.acceptable);
  return { employerId, etag: String(readiness.headers.etag), acceptable };
}

type Row = { check_id: string; employee_id: string | null; ids: string; finding: string; reason: string };

/** Returns the accepted findings of an employer's open run, and of its final runs if they have ids. */
function rowsOf({ machine }: Simulation, employerId: string): Row[] {
  return machine.query<Row>(
    `select check_id, employee_id, ids, finding, reason from accepted_findings join payroll_runs using (run_id)
      where run_id = ? or (ids <> '[]' and state <> 'open' and accepted_findings.employer_id = ?)`,
    ...[runOf(employerId), employerId],
  );
}

/** Reports whether an acceptance covers a finding: both have the same ids or, without ids, are the same finding. */
function covers({ check_id, employee_id, ids, finding }: Row, open: Open): boolean {
  if (check_id !== open.check || ids !== JSON.stringify(open.ids.toSorted())) return false;
  if (open.ids.length === 0) return isSame(finding, shownOf(open));
  return employee_id === null || employee_id === open.employee_id;
}

/** Reports whether an acceptance may cover a finding in a response, which has no ids. */
function mayCover({ check_id, employee_id, ids, finding }: Row, shown: Shown): boolean {
  if (check_id !== shown.check || ids === '[]') return isSame(finding, shown);
  const accepted = JSON.parse(finding) as Shown;
  const isSameFact = accepted.version === shown.version && accepted.event_id === shown.event_id;
  return isSameFact && (employee_id === null || employee_id === shown.employee_id);
}

function isSame(finding: string, shown: Shown): boolean {
  return textOf(JSON.parse(finding) as Shown) === textOf(shown);
}

function shownOf({ ids: _, result: __, acceptable: ___, ...shown }: Open): Shown {
  return shown;
}

function textOf(finding: Shown): string {
  return JSON.stringify(Object.entries(finding).sort());
}

/** Accepts the reviewed findings of a check. Reports whether the sidecar confirmed it. */
async function accept(
  simulation: Simulation,
  { employerId, etag }: Reading,
  { check, findings, reason }: Pick<Attempt, 'check' | 'findings' | 'reason'>,
): Promise<boolean> {
  const runId = runOf(employerId);
  const person = hasPeople(simulation, employerId) ? `manager of ${employerId}` : null;
  attemptsOf(simulation).push({ runId, reason, person, check, findings });
  const body = { accept: [check], reason };
  const url = `/v1/payroll-runs/${runId}/acceptances`;
  const response = await peopleOf(simulation, employerId).manager('POST', url, body, { 'if-match': etag });
  if (response?.status === 412) simulation.saw(OUTDATED);
  if (response?.status === 400 || response?.status === 422)
    simulation.breach(`an acceptance was refused: ${JSON.stringify(response.body)}`);
  if (response?.status !== 201) return false;
  simulation.confirm(CONFIRMED, `${runId} ${reason}`);
  return true;
}

/** Returns the audit records of acceptances that differ from their requests. */
function unlikeRequest(simulation: Simulation): string[] {
  const { query } = simulation.machine;
  type Recorded = {
    record_id: number;
    resource_id: string;
    reason: string;
    person: string | null;
    details: string;
  };
  const records = query<Recorded>(
    `select record_id, resource_id, reason, details, (select person from tokens where token_id = actor_id) as person
      from ${ACCEPTED}`,
  );
  return records.flatMap(({ record_id, resource_id, reason, person, details }) => {
    const attempt = attemptsOf(simulation).find(
      (made) => made.runId === resource_id && made.reason === reason,
    );
    if (attempt === undefined) return [`record ${record_id}: no such request`];
    const { accepted_checks, findings } = JSON.parse(details);
    const rows = query<Row>(
      'select * from accepted_findings where run_id = ? and record_id = ?',
      ...[resource_id, record_id],
    );
    const isAsRequested =
      person === attempt.person &&
      accepted_checks.join() === attempt.check &&
      [findings, rows.length].every((count) => count === attempt.findings.length) &&
      rows.every((row) => row.reason === reason) &&
      attempt.findings.every(
        (open) =>
          open.text === undefined ||
          rows.some((row) => covers(row, open) && isSame(row.finding, shownOf(open))),
      );
    return isAsRequested ? [] : [`record ${record_id}: ${JSON.stringify([attempt, person, details, rows])}`];
  });
}
