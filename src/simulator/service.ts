import type { Enrolments } from './enrolments.ts';
import type { MadeEvent, OutgoingEvent } from './events.ts';
import type { FaultState } from './faults.ts';
import type { Provider } from './provider.ts';
import type { ReceivedRequest } from './record.ts';
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
