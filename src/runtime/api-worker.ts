/** The main thread's end of the private side's worker thread. */
import type { MessagePort } from 'node:worker_threads';
import { answerCensus, type CensusFunction } from '../census/source.ts';
import type { Config } from '../config.ts';
import type { Log, LogFields } from '../telemetry/log.ts';
import type { Receiving } from '../telemetry/receiver-counts.ts';
import { answer } from '../telemetry/thread-request.ts';
import { startThread } from './thread.ts';

/** What the thread begins with. `asksForCensus`: a function of the embedding program gives it. */
export type ThreadData = { config: Config; asksForCensus: boolean };
export type ToThread = { say: 'wake send' } | { say: 'wake apply'; events: number };
export type FromThread =
  | { say: 'wake apply' }
  /** Its parts are asked for, and answered, on the port. */
  | { say: 'census'; employerId: string; port: MessagePort }
  /** What the other threads have counted is answered on the port. */
  | { say: 'receiving'; port: MessagePort }
  | { say: 'log'; level: keyof Log; fields: LogFields; message: string };

export type PrivateThread = {
  /** The address of the private listener; rejects when it can't start. */
  readonly listening: Promise<string>;
  wakeSend(): void;
  /** Where that side applies: so many more events are in the inbox. */
  wakeApply(events: number): void;
  /** May be called again. */
  stop(): Promise<void>;
};

/** Starts the private side on a thread of its own. `failed` is told when it ends without having been stopped. */
export function startPrivateThread(
  config: Config,
  on: {
    log: Log;
    census: CensusFunction | null;
    receiving: () => Promise<Receiving>;
    wakeApply: () => void;
    failed: (error: Error) => void;
  },
): PrivateThread {
  const thread = startThread<ToThread, FromThread>(
    {
      entry: 'api-thread-entry',
      called: 'the private side',
      data: { config, asksForCensus: on.census !== null } satisfies ThreadData,
    },
    {
      message(message) {
        if (message.say === 'wake apply') on.wakeApply();
        else if (message.say === 'log') on.log[message.level](message.fields, message.message);
        else if (message.say === 'receiving') answer(message.port, on.receiving());
        else if (on.census !== null) answerCensus(on.census, message.employerId, message.port);
      },
      failed: on.failed,
    },
  );
  return {
    listening: thread.listening,
    wakeSend: () => thread.tell({ say: 'wake send' }),
    wakeApply: (events) => thread.tell({ say: 'wake apply', events }),
    stop: thread.stop,
  };
}
