/** A sidecar in this process: what its main, receiver and API threads run, without sockets and without threads. */
import type { FastifyInstance } from 'fastify';
import { type CensusFunction, partsOf } from '../../src/census/source.ts';
import type { Config } from '../../src/config.ts';
import { createIntakeChannel, storeIntakeBatch } from '../../src/inbox/intake-channel.ts';
import { countedRefusals, createReceiver, REFUSAL_CAUSES } from '../../src/inbox/receiver.ts';
import { createVerify } from '../../src/inbox/signature.ts';
import type { Transport } from '../../src/outgoing.ts';
import type { Clocks } from '../../src/runtime/clocks.ts';
import { createServing } from '../../src/runtime/serving.ts';
import { startStoring } from '../../src/runtime/storing.ts';
import { createReceivingCounts } from '../../src/telemetry/counts.ts';
import type { Log } from '../../src/telemetry/log.ts';
import { load } from './time.ts';

type InstanceParts = {
  config: Config;
  clocks: Clocks;
  log: Log;
  random: () => number;
  transport: Transport;
  census: CensusFunction | null;
  /** Passes a message between threads: it takes time, and a fault may lose it. */
  message: (deliver: () => void) => void;
  failed: (error: unknown) => void;
};

export type Instance = { receiver: FastifyInstance; api: FastifyInstance; stop(): Promise<void> };

/** No request is refused for the load of the machine that simulates. */
const NO_LIMITS = { loopDelayMs: 0, connections: 0, heapBytes: 0 };

export async function startInstance(parts: InstanceParts): Promise<Instance> {
  const { config, clocks, log, random, transport, census, message, failed } = parts;
  const cleanup: (() => unknown)[] = [];
  const storing = await startStoring(config, { log, clocks, migrate: true, cleanup });
  void storing.failure.first.then(failed);
  const receiver = receiverOf(config, clocks, storing.downstream);
  await load(receiver.app.ready());
  const serving = createServing(config, {
    ...{ log, clocks, random, transport, failed, openId: null },
    source:
      census === null
        ? null
        : {
            fetch: async (employerId, signal) => ({
              format: 'json',
              content: partsOf(census, employerId, signal),
            }),
          },
    hasCensusFunction: census !== null,
    applies: false,
    latestStored: storing.latestStored,
    lockTurns: { ...storing.lockTurns, comesFirst: false },
    pressure: NO_LIMITS,
    receiving: async () => ({
      ...receiver.counts.read(),
      ...storing.counts.read(),
      threads: { main: storing.thread() },
    }),
    wakeApply: () => message(() => storing.signals.emit('stored')),
  });
  storing.signals.on('queued', () => message(serving.wakeSend));
  await load(serving.api.ready());
  storing.failure.started();
  serving.run();
  return {
    receiver: receiver.app,
    api: serving.api as unknown as FastifyInstance,
    async stop() {
      await Promise.all([receiver.app.close(), serving.stop(async () => void (await serving.api.close()))]);
      for (let step = cleanup.pop(); step !== undefined; step = cleanup.pop()) await step();
    },
  };
}

type Downstream = Awaited<ReturnType<typeof startStoring>>['downstream'];

/** The parts of the receiver thread. Its messages to the main thread carry deliveries and are never lost. */
function receiverOf({ webhookSecrets }: Config, { now }: Clocks, downstream: Downstream) {
  const counts = createReceivingCounts(now, REFUSAL_CAUSES);
  const channel = createIntakeChannel((batch) =>
    setImmediate(async () => {
      const unstored = await storeIntakeBatch(batch, downstream.accept);
      setImmediate(() => channel.finish(batch.batch, unstored));
    }),
  );
  const app = createReceiver({
    accept: channel.accept,
    isAlive: downstream.isAlive,
    isReady: downstream.isReady,
    verify: createVerify(webhookSecrets, now),
    refuse: countedRefusals(counts, downstream),
    acknowledged: counts.acknowledged,
  });
  return { app, counts };
}
