/** Compares the sidecar's data with the requests recorded by the simulated service. */
import type { Deduction } from '../../src/contract/deduction.ts';
import type { ChangeKind } from '../../src/outbox/manual.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';
import type { Api } from './api.ts';
import { eventually } from './eventually.ts';

/** A change that payroll reported and the sidecar accepted. */
export type Reported = { changeId: string; employeeId: string };

/** Reports a change as payroll does. Throws if it is not accepted. */
export async function report(
  api: Api,
  kind: ChangeKind,
  body: { employee_id: string } & Record<string, unknown>,
): Promise<Reported> {
  const { status, json } = await api.call('POST', `/v1/employee-changes/${kind}`, body);
  if (status !== 202) throw new Error(`${kind} returned ${status}: ${JSON.stringify(json)}`);
  return { changeId: json.id, employeeId: body.employee_id };
}

/** Reports two changes per employee whose order matters: the second address must win. */
export async function reportMoves(api: Api, employeeIds: readonly string[]): Promise<Reported[]> {
  const moves = ['1 First Street', '2 Second Street'].flatMap((line1) =>
    employeeIds.map((employee_id) => ({ employee_id, address: { ...BOISE, line1 } })),
  );
  const reported: Reported[] = [];
  for (const move of moves) reported.push(await report(api, 'demographic', move));
  return reported;
}

const BOISE = { city: 'Boise', state: 'ID', zip_code: '83702' };

export async function allSent(api: Api): Promise<void> {
  for (const state of ['pending', 'sending']) {
    await eventually(
      `no change is ${state}`,
      () => api.get(`/v1/employee-changes?state=${state}&limit=1`),
      ({ data }) => data.length === 0,
    );
  }
}

/** Returns the differences as sentences. Call it once nothing is in progress. */
export async function disagreements(
  { api, simulator }: { api: Api; simulator: Simulator },
  reported: readonly Reported[],
): Promise<string[]> {
  return [
    ...(await notDelivered(api, reported)),
    ...appliedTwice(simulator),
    ...outOfOrder(simulator, reported),
    ...(await otherDeductions(api, simulator)),
  ];
}

async function notDelivered(api: Api, reported: readonly Reported[]): Promise<string[]> {
  const pending: string[] = [];
  for (const { changeId } of reported) {
    const { state } = await api.get(`/v1/employee-changes/${changeId}`);
    if (state !== 'delivered') pending.push(`${changeId} is ${state}`);
  }
  return pending;
}

/** Includes censuses: each upload has its own key. */
function appliedTwice(simulator: Simulator): string[] {
  const keys = simulator
    .requests()
    .filter(({ applied }) => applied)
    .map(({ idempotencyKey }) => idempotencyKey);
  const twice = keys.filter((key, index) => key === null || keys.indexOf(key) !== index);
  return twice.map((key) => `${key} was applied twice`);
}

/** Checks that the keys applied for each employee are exactly the accepted ones, in order, once. */
function outOfOrder(simulator: Simulator, reported: readonly Reported[]): string[] {
  const applied = simulator.requests().filter(({ applied: is, kind }) => is && kind !== 'census');
  const subjects = new Set([
    ...reported.map(({ employeeId }) => `employee:${employeeId}`),
    ...applied.map(({ subject }) => subject),
  ]);
  return [...subjects].flatMap((subject) => {
    const here = reported.filter(({ employeeId }) => `employee:${employeeId}` === subject);
    const there = applied.filter((request) => request.subject === subject);
    const accepted = here.map(({ changeId }) => changeId).join(', ');
    const received = there.map(({ idempotencyKey }) => idempotencyKey).join(', ');
    return accepted === received ? [] : [`${subject}: accepted ${accepted}, applied there ${received}`];
  });
}

async function otherDeductions(api: Api, simulator: Simulator): Promise<string[]> {
  const texts = (deductions: readonly Deduction[]) =>
    new Map(deductions.map((deduction) => [deduction.id, textOf(deduction)]));
  const ledger = texts((await api.list('/v1/deductions?limit=1000')) as Deduction[]);
  const there = texts(simulator.deductions());
  return [...new Set([...ledger.keys(), ...there.keys()])]
    .filter((id) => ledger.get(id) !== there.get(id))
    .map(
      (id) => `deduction ${id}: ${ledger.get(id) ?? 'not'} in the ledger, ${there.get(id) ?? 'not'} there`,
    );
}

/** Returns the fields that the service sent, without fields that the ledger adds, in a fixed order. */
function textOf(shown: Deduction & Record<string, unknown>): string {
  const { employer_id, matched, version, position, event_time, recorded_at, placeholder, ...deduction } =
    shown;
  return JSON.stringify(deduction, Object.keys(deduction).sort());
}
