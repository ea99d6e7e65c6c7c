/** The upper bound for the sidecar: its own receiver, which verifies and responds and stores nothing. */
import { systemClock } from '../src/clock.ts';
import { readReceiver, readWebhookSecrets } from '../src/config.ts';
import { createReceiver } from '../src/inbox/receiver.ts';
import { createVerify } from '../src/inbox/signature.ts';

const app = createReceiver({
  verify: createVerify(readWebhookSecrets(process.env), systemClock),
  accept: async () => {},
  refuse: () => {},
  acknowledged: () => {},
  isAlive: async () => true,
  isReady: async () => true,
});
await app.listen({ ...readReceiver(process.env) });
process.on('SIGTERM', () => app.close());
