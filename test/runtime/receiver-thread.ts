/** The receiver's thread, with the test as the main thread. */
import type { Test } from 'tap';
import type { Arrival } from '../../src/inbox/inbox.ts';
import type { Downstream, RefusalCause } from '../../src/inbox/receiver.ts';
import { startReceiverThread } from '../../src/runtime/threads.ts';
import { SECRET } from '../inbox/deliver.ts';

export const LOCAL = { host: '127.0.0.1', port: 0 };

export async function start(t: Test, parts: Partial<Downstream> = {}, receiver = LOCAL) {
  const arrived: Arrival[] = [];
  const refused: RefusalCause[] = [];
  const failed: Error[] = [];
  const downstream: Downstream = {
    accept: async (arrival) => void arrived.push(arrival),
    refused: (cause) => void refused.push(cause),
    dropped: () => {},
    isAlive: async () => true,
    isReady: async () => true,
    ...parts,
  };
  const config = { receiver, webhookSecrets: [SECRET] };
  const thread = await startReceiverThread(config, downstream, (error) => failed.push(error));
  t.teardown(thread.stop);
  return { thread, port: Number(new URL(thread.address).port), arrived, refused, failed };
}
