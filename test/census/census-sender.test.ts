import { currentCensus, lastUpload } from '../../src/census/staged.ts';
import { stageCensus } from '../../src/census/staging.ts';
import { readSyncResponse } from '../../src/census/sync-list.ts';
import type { Organization } from '../../src/contract/census.ts';
import type { Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { AppError } from '../../src/errors.ts';
import { SLOW_RETRY_MS } from '../../src/outbox/retry.ts';
import { putFormat } from '../../src/payroll/settings/file-formats.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { organization } from '../contract/samples.ts';
import { parts } from '../formats/read.ts';
import { encryptor } from '../outbox/parts.ts';
import { json } from '../outbox/stub-service.ts';
import { onEitherEngine } from '../support/engine.ts';
import { pastTriggers } from '../support/past-triggers.ts';
import { CENSUS_FORMAT, censusOf, contentOf, HOUR_MS, person, stage } from './parts.ts';
import { sendingCensuses } from './sending.ts';

const MINUTE_MS = 60_000;
/** This many employees need a second chunk. */
const CHUNKFUL = 1_000;

const good = censusOf([person('e-1'), person('e-2')]);
const bad = censusOf([person('e-1', { dob: '7/9/1961' }), person('e-2')]);

onEitherEngine('only a census that the service accepted counts as the last upload', async (t) => {
  let status = 500;
  const { db, put, ask, send, clock } = await sendingCensuses(t, {
    answer: (response) => json(response, status),
  });
  await put(good);
  await ask('event-1');
  await send();
  t.equal(await lastUpload(db, 'a'), null);
  status = 200;
  clock.advance(HOUR_MS);
  await send();
  const census = await currentCensus(db, 'a');
  const expected = { census_id: census?.census_id, uploaded_at: clock().toISOString(), employees: 2 };
  t.match(await lastUpload(db, 'a'), expected);
  await put(censusOf([person('e-1')]));
  const uploaded = await lastUpload(db, 'a');
  t.match(uploaded, { census_id: census?.census_id }, 'a staged census is not an upload yet');
  await ask('event-2');
  await send();
  t.match(await lastUpload(db, 'a'), { employees: 1 });
});

onEitherEngine('push: without a fresh census the sync waits, with its reason', async (t) => {
  const { put, ask, send, syncs, requests, received, clock } = await sendingCensuses(t);
  await put(good);
  clock.advance(25 * HOUR_MS);
  await ask('event-1');
  await send();
  t.equal(received.length, 0);
  t.match(await syncs(), [{ state: 'waiting', reason: /older than CENSUS_MAX_AGE/ }]);
  t.match(await requests(), [{ state: 'canceled', reason: /older than CENSUS_MAX_AGE/ }]);
  await put(good);
  t.match(await syncs(), [{ state: 'requested', reason: null }]);
  await send();
  t.match(await syncs(), [{ state: 'uploaded' }]);
  t.equal(received.length, 1);
});

onEitherEngine('push: a census without a sync is not uploaded', async (t) => {
  const { put, send, requests } = await sendingCensuses(t);
  await put(good);
  await send();
  t.strictSame(await requests(), []);
});

onEitherEngine('push: a census staged while the send loop looks for one is not missed', async (t) => {
  const { db, clock, ask, decide: prepare } = await sendingCensuses(t);
  await ask('event-1');
  const decide = await prepare();
  await stage(db, clock, good);
  t.match(await transact(db, decide), { outcome: 'later', delayMs: 0 });
  t.match(await db.selectFrom('census_syncs').select('state').execute(), [{ state: 'requested' }]);
});

onEitherEngine('a request that arrives during an upload creates a new one', async (t) => {
  const { put, ask, send, syncs, received } = await sendingCensuses(t, {
    answer: async (response, _, index) => {
      if (index === 0) {
        await ask('event-2');
        await ask('event-3');
      }
      json(response, 200);
    },
  });
  await put(good);
  await ask('event-1');
  await send();
  t.equal(received.length, 2);
  t.match(await syncs(), [{ state: 'uploaded' }, { state: 'uploaded' }, { state: 'uploaded' }]);
  const ids = (await syncs()).map(({ request_id }) => request_id);
  t.equal(ids[1], ids[2]);
  t.not(ids[0], ids[1]);
});

onEitherEngine('the idempotency key changes only with the content or a new sync', async (t) => {
  const { put, ask, send, received, clock } = await sendingCensuses(t, {
    answer: (response, _, index) => (index < 3 ? response.socket?.resetAndDestroy() : json(response, 200)),
  });
  await put(good);
  await ask('event-1');
  await send();
  clock.advance(MINUTE_MS);
  await send();
  await ask('event-2');
  clock.advance(MINUTE_MS);
  await send();
  await put(censusOf([person('e-3')]));
  clock.advance(MINUTE_MS);
  await send();
  const keys = received.map(({ headers }) => headers['idempotency-key']);
  t.equal(keys.length, 4);
  t.equal(keys[0], keys[1]);
  t.equal(new Set(keys).size, 3);
});

onEitherEngine('a completion after a lost response ends the sync without another request', async (t) => {
  const { put, ask, send, complete, syncs, requests, received, clock } = await sendingCensuses(t, {
    answer: (response) => response.socket?.resetAndDestroy(),
  });
  await put(good);
  await ask('event-1');
  await send();
  t.match(await syncs(), [
    { state: 'requested', reason: /^no response was received: \w+; the upload will be retried$/ },
  ]);
  t.equal(await complete(), 1);
  clock.advance(MINUTE_MS);
  await send();
  t.equal(received.length, 1);
  t.match(await syncs(), [{ state: 'completed', reason: null }]);
  t.match(await requests(), [{ state: 'canceled', reason: 'no census sync is waiting for this upload' }]);
});

onEitherEngine('a response does not undo a completion that arrived before it', async (t) => {
  const { put, ask, send, complete, syncs, clock } = await sendingCensuses(t, {
    answer: async (response) => {
      await complete();
      json(response, 200);
    },
  });
  await put(good);
  await ask('event-1');
  await send();
  t.match(await syncs(), [{ state: 'completed', uploaded_at: clock().toISOString() }]);
});

onEitherEngine('a rejection fails the syncs with its status; a new census is uploaded', async (t) => {
  const { db, put, ask, send, complete, syncs, requests, received } = await sendingCensuses(t, {
    answer: (response, _, index) =>
      index === 0 ? json(response, 422, { error: 'SECRET-VALUE' }) : json(response, 200),
  });
  await put(good);
  await ask('event-1');
  await send();
  const reason = /^the service responded with 422; read its response with "census show --response"/;
  t.match(await syncs(), [{ state: 'failed', reason, problem_count: 0 }]);
  const [failed] = await syncs();
  t.equal(await readSyncResponse(db, encryptor, failed!.sync_id), '{"error":"SECRET-VALUE"}');
  t.equal(await complete(), 0, 'a rejected upload was not processed');
  await put(censusOf([person('e-3')]));
  await send();
  t.match(await syncs(), [{ state: 'uploaded', reason: null }]);
  t.match(await requests(), [{ state: 'rejected' }, { state: 'delivered' }]);
  t.equal(received.length, 2);
  t.notOk(JSON.stringify(await syncs()).includes('SECRET-VALUE'));
});

onEitherEngine('a census whose data key is missing is not sent, and the reason names the key', async (t) => {
  const { db, clock, ask, send, syncs, requests, received } = await sendingCensuses(t);
  const old = createEncryptor([{ id: 'old', key: Buffer.alloc(32, 9) }]);
  await stageCensus({ db, encryptor: old, sharedNow: async () => clock() }, 'a', contentOf(good));
  await ask('event-1');
  await send();
  t.equal(received.length, 0);
  const reason = /^the staged census cannot be decrypted: DATA_KEYS has no key old/;
  t.match(await syncs(), [{ state: 'requested', reason, upload_started_at: null }]);
  const [request] = await requests();
  t.match(request, { state: 'pending', reason, unknown_outcome: 0 });
  t.equal(Date.parse(request!.due_at) - clock().getTime(), 1_999);
});

for (const { damage, spoil, reason, code } of [
  {
    damage: 'that cannot be decrypted',
    spoil: (trx: Trx) =>
      trx
        .updateTable('census_chunks')
        .set({ ciphertext: Buffer.alloc(64) })
        .where('chunk', '=', 1),
    reason: /cannot be decrypted: census_chunks/,
    code: 'DECRYPTION_FAILED',
  },
  {
    damage: 'with a missing chunk',
    spoil: (trx: Trx) => trx.deleteFrom('census_chunks').where('chunk', '=', 1),
    reason: /is incomplete: if this persists, stage it again/,
    code: 'CENSUS_CUT',
  },
])
  onEitherEngine(`a census ${damage} is not sent, and the reason names it`, async (t) => {
    const { db, put, ask, send, complete, syncs, requests, received } = await sendingCensuses(t);
    await put(censusOf(Array.from({ length: CHUNKFUL }, (_, n) => person(`e-${n}`))));
    await pastTriggers(db, (trx) => spoil(trx).execute() as Promise<unknown>);
    await ask('event-1');
    await send();
    t.equal(received.length, 0);
    t.match(await syncs(), [{ state: 'requested', reason }]);
    const unsent = { state: 'pending', reason: `no response was received: ${code}`, unknown_outcome: 0 };
    t.match(await requests(), [unsent]);
    t.equal(await complete(), 0, 'the service never received it');
  });

onEitherEngine('pull: a request fetches the census once for its attempts, until it is stale', async (t) => {
  let status = 503;
  const { ask, send, syncs, received, fetches, clock } = await sendingCensuses(t, {
    fetch: () => contentOf(good),
    answer: (response) => json(response, status),
  });
  await ask('event-1');
  await send();
  clock.advance(MINUTE_MS);
  await send();
  t.equal(fetches(), 1, 'one fetch serves all attempts');
  t.equal(received[0]?.body, good);
  t.equal(received[0]?.headers['idempotency-key'], received[1]?.headers['idempotency-key']);
  clock.advance(25 * HOUR_MS);
  status = 200;
  await send();
  t.equal(fetches(), 2, 'a stale census is fetched again');
  t.match(await syncs(), [{ state: 'uploaded' }]);
  clock.advance(MINUTE_MS);
  await ask('event-2');
  await send();
  t.equal(fetches(), 3, 'a new request fetches again');
});

onEitherEngine('pull: a source that cannot be reached is retried, and the reason is shown', async (t) => {
  const { ask, send, syncs, requests, received, clock } = await sendingCensuses(t, {
    fetch: (n) => {
      if (n < 2) throw new AppError('CENSUS_SOURCE_FAILED', 'the census source responded with 500');
      return contentOf(good);
    },
  });
  await ask('event-1');
  await send();
  t.match(await syncs(), [{ state: 'requested', reason: 'the census source responded with 500' }]);
  const [request] = await requests();
  t.match(request, { state: 'pending', attempts: 1, reason: 'the census source responded with 500' });
  t.equal(Date.parse(request!.due_at) - clock().getTime(), 1_999);
  clock.advance(MINUTE_MS);
  await send();
  clock.advance(MINUTE_MS);
  await send();
  t.match(await syncs(), [{ state: 'uploaded', reason: null }]);
  t.equal(received.length, 1);
});

onEitherEngine('pull: an invalid census fails the syncs, is not sent and is fetched again', async (t) => {
  const { ask, send, syncs, requests, received, clock } = await sendingCensuses(t, {
    fetch: (n) => contentOf(n === 0 ? bad : good),
  });
  await ask('event-1');
  await send();
  t.equal(received.length, 0);
  const [failed] = await syncs();
  t.match(failed, { state: 'failed', reason: 'the census breaks the contract in 1 place', problem_count: 1 });
  t.match(JSON.parse(failed!.problems!), [{ path: 'employees[0].dob', rule: /real date/ }]);
  const [request] = await requests();
  t.equal(Date.parse(request!.due_at) - clock().getTime(), 15 * MINUTE_MS);
  t.notMatch(JSON.stringify([failed, request]), /1961/, 'neither the value nor what it means is stored');
  clock.advance(15 * MINUTE_MS);
  await send();
  t.match(await syncs(), [{ state: 'uploaded', reason: null, problem_count: 0, problems: null }]);
  t.equal((await requests()).length, 1, 'the request that fetched the census uploads it');
});

onEitherEngine(
  'a sync that waits because of its file is uploaded once the source has the right one',
  async (t) => {
    const csv = (header: string, dob: string) =>
      Buffer.from(
        `${header}\n1,Ana,Ruiz,${dob},1 Main St,Boston,MA,02108,2020-02-03,a@example.org,40,1.00,hourly,2026-01-01,full_time\n`,
      );
    const header = CENSUS_FORMAT.columns.map((column) => `My ${column.header}`);
    const files = [csv(header.join(), '4/5/1980'), csv(`${header},x`, ''), csv(header.join(), '1980-04-05')];
    const { db, ask, send, syncs, requests, received, clock } = await sendingCensuses(t, {
      fetch: (n) => ({ format: 'csv', content: parts(files[n] as Buffer) }),
    });
    const columns = CENSUS_FORMAT.columns.map(({ field }, at) => ({
      header: header[at] as string,
      field,
      rules: [],
    }));
    const format = { columns, constants: {}, sheet: null, id_prefix: null, leave_out: [] };
    const acme = organization as Organization;
    const acting = { actor: SYSTEM, now: '2026-01-01T00:00:00.000Z' };
    await transact(db, (trx) =>
      putFormat(trx, () => encryptor, 'a', { kind: 'census', format, organization: acme }, acting),
    );
    const reasons = [
      /not as its file format: dob: has 1 value in the column "My dob"/,
      /column 16: is not in the/,
    ];
    await ask('event-1');
    for (const reason of reasons) {
      await send();
      t.match(await syncs(), [{ state: 'waiting', reason }]);
      t.notMatch(JSON.stringify([await syncs(), await requests()]), /4\/5|1980-04/, 'no value is stored');
      clock.advance(SLOW_RETRY_MS);
    }
    t.equal(received.length, 0);
    await send();
    t.match(await syncs(), [{ state: 'uploaded', reason: null }]);
  },
);

onEitherEngine('an employer id that does not fit into a URL fails its sync without retries', async (t) => {
  const { ask, send, syncs, requests, received } = await sendingCensuses(t, { fetch: () => contentOf(good) });
  await ask('event-1', '..');
  await send();
  t.match(await syncs(), [{ state: 'failed', reason: /part of a URL/ }]);
  t.match(await requests(), [{ state: 'canceled' }]);
  t.equal(received.length, 0);
});

onEitherEngine('a census dated further ahead than clocks may differ is not fresh', async (t) => {
  const { put, ask, send, syncs, clock } = await sendingCensuses(t);
  await put(good);
  clock.advance(-48 * HOUR_MS);
  await ask('event-1');
  await send();
  t.match(await syncs(), [{ state: 'waiting' }]);
});
