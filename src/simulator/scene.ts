import type { LineOfCoverage } from '../contract/deduction.ts';
import { utcDay } from '../contract/instant.ts';
import type { Enrolments } from './enrolments.ts';
import type { MadeEvent, OutgoingEvent } from './events.ts';
import type { FaultState } from './faults.ts';
import type { Provider } from './provider.ts';
import type { ReceivedRequest } from './record.ts';
import type { News } from './waiting.ts';
import type { KnownEmployee } from './workforce.ts';
import type { World } from './world.ts';

/** The simulated service without its listener. */
export type Service = Enrolments &
  Omit<Provider, 'sendLater' | 'close'> & {
    world: World;
    /** Requests an employer's census; resolves as `send` does. */
    requestCensus(employerId: string): Promise<MadeEvent>;
    /** Sends each event 1 + `duplicates` times, in a seeded order, without overlap. */
    deliverShuffled(events: readonly OutgoingEvent[], options?: { duplicates?: number }): Promise<void>;
    /** In the order they were decided. */
    requests(): ReceivedRequest[];
    /** The employees reported by censuses and employment changes, by employee id. */
    employeesOf(employerId: string): ReadonlyMap<string, KnownEmployee>;
    /** Replaces all faults; hanging requests are reset. Throws FAULT_REFUSED for an invalid fault. */
    setFaults(texts: readonly string[]): void;
    faults(): FaultState[];
    setApiKey(apiKey: string): void;
  };

/** The parameters of a scenario: the simulator, and a function to report what happens. */
export type Scene = Service &
  Pick<News, 'until'> & { now: () => Date; newSecret(): string; newKey(): string; say(line: string): void };

export type Scenario = {
  about: string;
  /** The commands that show the effect, and what they show. */
  see: string;
  play(scene: Scene): Promise<void>;
};

/** Returns an employee of the first employer, whose events the scenarios send: of its last census, if one was received. */
export function employeeOf(scene: Scene, nth = 0): string {
  const [[employerId, census] = ['', undefined]] = scene.world;
  const received = [...scene.employeesOf(employerId).values()];
  const employees = received.length > 0 ? received : (census?.employees ?? []);
  const employee = employees[nth % employees.length];
  if (employee === undefined) throw new Error('the simulated world has no employee: add one');
  return employee.employee_id;
}

export function enrolOne(scene: Scene, employeeId: string, line: LineOfCoverage) {
  const event = scene.enrolUnlisted(employeeId, line);
  return { id: (event.body.data as { id: string }).id, event };
}

export function dayFrom(scene: Scene, days: number): string {
  return utcDay(new Date(scene.now().getTime() + days * 86_400_000));
}

export async function sendInOrder(scene: Scene, events: readonly OutgoingEvent[]): Promise<void> {
  for (const event of events) await scene.send(event);
}

/** Requests the employers' censuses, and waits until each has one that was applied afterward. */
export async function takeCensuses(scene: Scene, employerIds: readonly string[] = [...scene.world.keys()]) {
  const before = scene.requests().length;
  for (const employerId of employerIds) {
    scene.say(`Requesting the census of ${employerId}`);
    await scene.requestCensus(employerId);
  }
  const wanted = employerIds.map((id) => `employer:${id}`);
  await scene.until(() => {
    const since = scene.requests().slice(before);
    return wanted.every((id) => since.some(({ applied, subject }) => applied && subject === id));
  });
  await scene.settled();
}

export async function withFault(scene: Scene, fault: string, act: () => Promise<void>): Promise<void> {
  scene.say(`Faults: ${fault}`);
  scene.setFaults([fault]);
  try {
    await act();
  } finally {
    scene.setFaults([]);
  }
  scene.say('The faults are removed');
}
