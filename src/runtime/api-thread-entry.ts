/** What the private side's worker thread runs. */
import { constants, setPriority } from 'node:os';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { createFunctionSource } from '../census/source.ts';
import { engineOfUrl } from '../database/engine.ts';
import type { Log, LogFields } from '../telemetry/log.ts';
import type { Receiving } from '../telemetry/receiver-counts.ts';
import { createAsk } from '../telemetry/thread-request.ts';
import { startPrivateSide } from './api-thread.ts';
import type { FromThread, ThreadData, ToThread } from './api-worker.ts';
import { failureOf, type Saying, type Told } from './thread.ts';

async function main(port: MessagePort): Promise<void> {
  const tell = (message: FromThread | Saying): void => port.postMessage(message);
  // One process has one log: what is said here is written by the thread that started this one.
  const say = (level: keyof Log) => (fields: LogFields, message: string) =>
    tell({ say: 'log', level, fields, message });
  const log: Log = {
    debug: say('debug'),
    info: say('info'),
    warn: say('warn'),
    error: say('error'),
    fatal: say('fatal'),
  };
  const askForCensus = (employerId: string, channel: MessagePort): void =>
    port.postMessage({ say: 'census', employerId, port: channel } satisfies FromThread, [channel]);
  const receiving = createAsk<Receiving>((channel) =>
    port.postMessage({ say: 'receiving', port: channel } satisfies FromThread, [channel]),
  );
  const starting = startPrivateSide(config, {
    log,
    givenSource: asksForCensus ? createFunctionSource(askForCensus) : null,
    receiving,
    wakeApply: () => tell({ say: 'wake apply' }),
    failed: (error) => tell({ say: 'failed', error: failureOf(error) }),
  });
  port.on('message', async (message: ToThread | Told) => {
    const side = await starting.catch(() => null);
    if (message.say === 'wake send') side?.wakeSend();
    else if (message.say === 'wake apply') side?.wakeApply(message.events);
    else {
      await side?.stop();
      port.close();
    }
  });
  tell({ say: 'listening', address: (await starting).address });
}

const { config, asksForCensus } = workerData as ThreadData;
// Where there are fewer cores than work, acknowledgements come before queries, which SQLite runs on this thread. On
// Linux a priority belongs to the thread that sets it; elsewhere it would be the whole process's.
if (process.platform === 'linux' && engineOfUrl(config.databaseUrl) === 'sqlite') {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
}

const port = parentPort as MessagePort;
main(port).catch((error: unknown) => {
  port.postMessage({ say: 'failed', error: failureOf(error) } satisfies Saying);
  port.close();
});
