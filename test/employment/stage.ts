/** Employment changes as payroll reports them, and a service whose responses the test defines. */
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { type Accepted, type Accepting, acceptChanges } from '../../src/employment/accept.ts';
import { type Change, checkChange } from '../../src/employment/change.ts';
import type { ChangeKind } from '../../src/outbox/manual.ts';
import { employerSubject, enqueue } from '../../src/outbox/queue.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { compensationChange, demographic, newHire, termination } from '../contract/samples.ts';
import { encryptor, type SetClock, START, sendAll, sendLoop, setClock } from '../outbox/parts.ts';
import { json, stubService } from '../outbox/stub-service.ts';

export const SAMPLES: Readonly<Record<ChangeKind, object>> = {
  'new-hire': newHire,
  termination,
  demographic,
  'compensation-change': compensationChange,
};

export async function acceptChange(accepting: Accepting, change: Change, idempotencyKey: string | null) {
  const [accepted] = await acceptChanges(accepting, [{ change, idempotencyKey, actor: SYSTEM }]);
  return accepted as Accepted;
}

/** Returns a valid change. */
export function changeOf(kind: ChangeKind, body: unknown): Change {
  const checked = checkChange(kind, body);
  if (!checked.ok) throw new Error(JSON.stringify(checked.problems));
  return checked.change;
}

/** Accepts a change with these fields of the kind's sample replaced. Returns its id. */
export async function report(
  db: Db,
  kind: ChangeKind,
  employeeId: string,
  { fields = {}, clock = setClock() }: { fields?: object; clock?: () => Date } = {},
): Promise<string> {
  const change = changeOf(kind, { ...SAMPLES[kind], employee_id: employeeId, ...fields });
  const accepted = await acceptChange({ db, encryptor, sharedNow: async () => clock() }, change, null);
  if (accepted.outcome !== 'accepted') throw new Error(accepted.outcome);
  return accepted.changeId;
}

/** Enqueues a census upload in the same outbox. Returns its id. */
export async function oweCensus(db: Db): Promise<string> {
  const request = {
    requestId: 'census-1',
    kind: 'census',
    ...employerSubject('e'),
    encrypted: null,
  } as const;
  await transact(db, (trx) => enqueue(trx, [request], START.toISOString()));
  return request.requestId;
}

type Service = {
  clock: SetClock;
  /** The status for each change id from now on, 200 by default; null resets the connection. */
  answers: Map<string, number | null>;
  /** The response body for other statuses than 200. */
  says: { error: string };
  /** The ids of the received changes, in order. */
  received: string[];
  /** Sends until nothing more is due. */
  send(): Promise<void>;
};

export async function service(t: Test, db: Db): Promise<Service> {
  const answers = new Map<string, number | null>();
  const received: string[] = [];
  const says = { error: 'no' };
  const { url } = await stubService(t, (response, { headers }) => {
    const id = String(headers['idempotency-key']);
    received.push(id);
    const status = answers.has(id) ? answers.get(id) : 200;
    if (status === null || status === undefined) response.socket?.destroy();
    else json(response, status, status === 200 ? {} : says);
  });
  const clock = setClock();
  const loop = sendLoop(t, db, url, clock);
  return { clock, answers, says, received, send: () => sendAll(loop) };
}
