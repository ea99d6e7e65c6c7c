/** Shared by the tests of notifications: a settable clock, a receiver over real HTTP, and the loop between them. */
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { createReceiver } from '../../src/notifications/attempt.ts';
import { createLease } from '../../src/notifications/lease.ts';
import { createNotificationLoop, type NotificationLoopParts } from '../../src/notifications/send-loop.ts';
import { adoptTypes, notify } from '../../src/notifications/store.ts';
import { listNotifications } from '../../src/notifications/view.ts';
import type { NotifyConfig } from '../../src/notify-config.ts';
import { createTransport } from '../../src/outgoing.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { webhookSecret } from '../config-samples.ts';
import { scratch } from '../database/scratch.ts';
import { setClock } from '../outbox/parts.ts';
import { type Answer, stubService } from '../outbox/stub-service.ts';

export const SECRET = webhookSecret(32);
export const RUN = { run_id: 'r-1', employer_id: 'acme', pay_date: '2026-07-17' };
export const HOUR_MS = 3_600_000;

export const notifyConfig = (url: string, more: Partial<NotifyConfig> = {}): NotifyConfig => ({
  ...{ url, secrets: [SECRET], secretsFile: null, types: null },
  ...more,
});

/** A loop with the longest backoff. `pass` sends what is due once. */
export function notificationLoop(db: Db, config: NotifyConfig, parts: Partial<NotificationLoopParts>) {
  const ended: string[] = [];
  const loop = createNotificationLoop({
    ...{ db, random: () => 0.999, log: silentLog, sharedNow: async () => new Date() },
    lease: createLease(db),
    receiver: createReceiver(config, '9.9.9', createTransport()),
    onEnded: (how) => ended.push(how),
    ...parts,
  });
  const { signal } = new AbortController();
  return { ...loop, ended, pass: () => loop.runOnce(signal) };
}

/** A database that stores notifications, a receiver that responds as the test defines, and a loop between them. */
export async function telling(t: Test, answer: Answer, more: Partial<NotificationLoopParts> = {}) {
  const { db } = await scratch(t);
  const clock = setClock();
  const { url, received } = await stubService(t, answer);
  const config = notifyConfig(`${url}/hooks`);
  await adoptTypes(db, config);
  const sharedNow = async () => clock();
  const tell = (run: Partial<typeof RUN> = {}) =>
    transact(db, (trx) => notify(trx, 'run.finalized', { ...RUN, ...run }, clock().toISOString()));
  const stored = async () => (await listNotifications(db, {}, { limit: 100 })).data.toReversed();
  return {
    db,
    clock,
    url,
    received,
    config,
    tell,
    stored,
    ...notificationLoop(db, config, { sharedNow, ...more }),
  };
}

/** Of what was received, the runs that notifications were about. */
export function runsOf(received: readonly { body: string }[]): string[] {
  return received.map(({ body }) => JSON.parse(body).data.run_id);
}

/** Stores every type from now on. */
export const adopt = (db: Db) => adoptTypes(db, notifyConfig('http://127.0.0.1'));

/** Returns what was told, oldest first. */
export const told = async (db: Db) =>
  (await listNotifications(db, {}, { limit: 100 })).data.toReversed().map(({ type, data }) => [type, data]);

/** Stores a test notification, and returns its id. */
export async function tellTest(db: Db): Promise<string> {
  await adopt(db);
  return String(await transact(db, (trx) => notify(trx, 'notification.test', {}, NOW)));
}

const NOW = new Date(0).toISOString();
