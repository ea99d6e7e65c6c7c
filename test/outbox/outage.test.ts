import { onEitherEngine } from '../support/engine.ts';
import { idsOf, owe, request, sending } from './parts.ts';
import { json } from './stub-service.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const employees = 40;
const each = 3;

onEitherEngine('a service that is down for a day is probed about once a minute', async (t) => {
  let isDown = true;
  let now = 0;
  let most = 0;
  const { db, clock, received, loop } = await sending(t, (response) => {
    now += 1;
    most = Math.max(most, now);
    setImmediate(() => {
      now -= 1;
      json(response, isDown ? 503 : 200);
    });
  });
  for (let n = 0; n < employees * each; n += 1) await owe(db, `r-${n}`, `e-${n % employees}`);
  for (let waited = 0; waited < HOUR_MS; waited += 5 * SECOND_MS) {
    await loop.runOnce();
    clock.advance(5 * SECOND_MS);
  }
  t.ok(received.length > 55 && received.length < 80, `probed ${received.length} times in an hour`);
  clock.advance(23 * HOUR_MS);
  await loop.runOnce();
  clock.advance(60 * SECOND_MS);

  const asked = received.length;
  isDown = false;
  most = 0;
  const rounds: number[] = [];
  for (let waited = 0; waited < HOUR_MS; waited += SECOND_MS) {
    const { delivered } = await loop.runOnce();
    if (delivered > 0) rounds.push(delivered);
    if (rounds.reduce((sum, round) => sum + round, 0) === employees * each) break;
    clock.advance(SECOND_MS);
  }
  t.strictSame(rounds.slice(0, 4), [1, 2, 4, 8], 'one probe, then twice as many each round');
  t.equal(most, 8);
  const left = await db.selectFrom('outbox').select('seq').where('state', '<>', 'delivered').execute();
  t.strictSame(left, [], 'nothing is lost');
  const sent = idsOf(received.slice(asked)).map((id) => Number(id.slice(2)));
  t.equal(sent.length, employees * each, 'nothing is sent twice once it is back');
  for (let employee = 0; employee < employees; employee += 1) {
    const own = sent.filter((n) => n % employees === employee);
    t.strictSame(own, [employee, employee + employees, employee + 2 * employees]);
  }
});

onEitherEngine("one employee's change that always fails barely delays other changes", async (t) => {
  const { db, clock, loop } = await sending(t, (response, { body }) =>
    json(response, body.includes('poison') ? 500 : 200),
  );
  await owe(db, 'poison', 'e-0');
  for (let waited = 0; waited < 4 * HOUR_MS; waited += 60 * SECOND_MS) {
    await loop.runOnce();
    clock.advance(60 * SECOND_MS);
  }
  t.ok((await request(db, 'poison')).attempts > 15);
  for (let n = 0; n < 100; n += 1) await owe(db, `r-${n}`, `e-${n + 1}`, 'demographic', clock());
  let seconds = 0;
  const isLeft = async () =>
    (await db.selectFrom('outbox').select('seq').where('state', '=', 'pending').execute()).length > 1;
  for (; await isLeft(); seconds += 1) {
    await loop.runOnce();
    clock.advance(SECOND_MS);
  }
  t.ok(seconds < 90, `all were sent after ${seconds} s`);
});
