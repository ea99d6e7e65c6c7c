import { stageCensus } from '../../src/census/staging.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { pauseSending, resumeSending } from '../../src/outbox/circuit-breaker.ts';
import { endPilot, startPilot } from '../../src/outbox/pilot.ts';
import { tokenActor } from '../../src/security/audit.ts';
import { censusOf, contentOf, HOUR_MS, heldSync, person, stage } from '../census/parts.ts';
import { encryptor, setClock } from '../outbox/parts.ts';
import { acting } from '../support/audit.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deliver, eventOf } from './deliver.ts';
import { NOW, type Running, start } from './start.ts';

const PATH = '/v1/employers/a/flow-readiness';

/** The codes of the reasons against the flow of an employer. */
async function codesOf({ call }: Running, url = PATH): Promise<string[]> {
  const { status, json } = await call({ url });
  if (status !== 200 || json.ready !== (json.reasons.length === 0)) throw new Error(JSON.stringify(json));
  return json.reasons.map(({ code }: { code: string }) => code);
}

const daysBefore = (days: number) => setClock(new Date(NOW.getTime() - days * 24 * HOUR_MS));

/** Stages as a program does, not as the source. */
function push(db: Db, days = 0) {
  const sharedNow = async () => daysBefore(days)();
  const actor = tokenActor({ tokenId: 'tok_1', name: 'payroll' }, null);
  return stageCensus({ db, encryptor, sharedNow }, 'a', contentOf(censusOf([person('e-1')])), { actor });
}

onEitherEngine('a flow is ready once nothing is missing, and otherwise its reasons are listed', async (t) => {
  let clockWarning: string | null = null;
  const running = await start(t, { clockWarning: async () => clockWarning });
  const { db } = running;
  const moment = acting(NOW);
  t.strictSame(await codesOf(running), ['employer-unknown', 'no-event-yet']);
  await push(db, 2);
  t.strictSame(await codesOf(running), ['no-event-yet', 'no-census'], 'the census is too old');
  await deliver(db, [eventOf('evt-test', 'endpoint.test', {})]);
  t.strictSame(await codesOf(running), ['no-census'], 'the type of the event does not matter');
  await push(db);
  t.strictSame(await codesOf(running), []);

  const cases: [code: string, begin: () => Promise<unknown>, end: () => Promise<unknown>][] = [
    [
      'sending-off',
      () => transact(db, (trx) => startPilot(trx, moment)),
      () => transact(db, (trx) => endPilot(trx, moment.now)),
    ],
    [
      'circuit-breaker-paused',
      () => transact(db, (trx) => pauseSending(trx, 'the service responded with 401', NOW)),
      () => transact(db, resumeSending),
    ],
    [
      'clock',
      async () => {
        clockWarning = 'an hour behind';
      },
      async () => {
        clockWarning = null;
      },
    ],
  ];
  for (const [code, begin, end] of cases) {
    await begin();
    t.strictSame(await codesOf(running), [code]);
    await end();
    t.strictSame(await codesOf(running), [], `${code} has ended`);
  }
  await heldSync(db, () => NOW, 'a');
  t.strictSame(await codesOf(running), ['no-census'], 'a held census is not uploaded');
});

onEitherEngine('an old census that the source returned is enough', async (t) => {
  const running = await start(t, { censusFrom: 'http' });
  await deliver(running.db, [eventOf('evt-test', 'endpoint.test', {})]);
  await push(running.db, 2);
  t.strictSame(await codesOf(running), ['no-census'], 'a person staged it');
  await stage(running.db, daysBefore(2), censusOf([person('e-1')]));
  t.strictSame(await codesOf(running), []);
});

onEitherEngine('either scope permits the question, for the employers of the token', async (t) => {
  const { call, tokenFor } = await start(t);
  for (const scope of ['runs:read', 'census:read']) {
    const token = await tokenFor(['a'], scope);
    t.match(await call({ url: PATH, token }), { status: 200, json: { employer_id: 'a', ready: false } });
    t.equal((await call({ url: PATH.replace('/a/', '/b/'), token })).status, 404);
  }
  const token = await tokenFor(['a'], 'changes:read');
  t.match(await call({ url: PATH, token }), { status: 403, json: { detail: /runs:read or census:read/ } });
});
