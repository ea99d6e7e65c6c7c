import { readFileSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { holdServeLock, sqlitePath } from '../../src/database/open.ts';
import {
  detectDataLoss,
  keepHighWaterMark,
  readMark,
  readNewest,
  removeMark,
  writeMark,
} from '../../src/inbox/data-loss.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { here, jsonOf, withFixtures } from '../cli/harness.ts';
import { eventually } from '../support/eventually.ts';

const NOW = new Date('2026-02-01T00:00:00.000Z');

async function stage(t: Parameters<typeof withFixtures>[0]) {
  const { env, db } = await withFixtures(t);
  const url = env.DATABASE_URL as string;
  const notice = () => detectDataLoss(db, url, NOW, silentLog);
  const check = async () =>
    jsonOf(await here(t, env, ['readiness', '--json'])).checks.find(
      ({ id }: { id: string }) => id === 'data-loss',
    );
  return { env, db, url, notice, check };
}

t.test('a high-water mark that is missing, unreadable or older detects nothing', async (t) => {
  const { db, url, notice, check } = await stage(t);
  t.equal(readMark(url), null);
  t.equal(await notice(), null);
  for (const text of [
    '',
    ...'null [] {"position":1 {"position":-1,"seq":1} {"position":"9","seq":9}'.split(' '),
  ]) {
    writeFileSync(`${sqlitePath(url)}-hint`, text);
    t.equal(readMark(url), null, text);
    t.equal(await notice(), null, text);
  }
  writeMark(url, { position: 3, seq: 4, received_at: null });
  t.equal(await notice(), null);
  writeMark(url, await readNewest(db));
  t.equal(await notice(), null);
  t.match(await check(), { result: 'pass' });
});

t.test('a database behind its high-water mark is reported until it is accepted', async (t) => {
  const { env, db, url, notice, check } = await stage(t);
  writeMark(url, { position: 15, seq: 18, received_at: '2026-01-20T00:00:00.000Z' });
  t.match(await notice(), { position: 12, seq: 16, saved_position: 15, saved_seq: 18 });
  t.equal(await notice(), null, 'the high-water mark starts over');
  t.match(await check(), {
    result: 'fail',
    count: 1,
    findings: [
      {
        text: 'replay the events from 2026-01-13T20:00:00.000Z onward: found at 2026-02-01T00:00:00.000Z that the database lacks 2 events, the newest received at 2026-01-20T00:00:00.000Z, and their effects',
      },
    ],
  });
  t.match(await here(t, env, ['accept-loss', '--reason', ' ']), { code: 2 });
  const accepted = { code: 0, stdout: 'Accepted 1 loss\n' };
  t.match(await here(t, env, ['accept-loss', '--reason', 'replayed', '--yes']), accepted);
  t.match(await check(), { result: 'pass' });
  const none = { code: 1, stderr: /there is no loss to accept/ };
  t.match(await here(t, env, ['accept-loss', '--reason', 'again']), none);
  t.match(await db.selectFrom('data_losses').select('accepted_reason').execute(), [
    { accepted_reason: 'replayed' },
  ]);
});

t.test('readiness, doctor and verify report a loss that no start has detected', async (t) => {
  const { env, db, url, notice, check } = await stage(t);
  const saved = { position: 15, seq: 18, received_at: '2026-01-20T00:00:00.000Z' };
  const diagnosed = async () =>
    jsonOf(await here(t, env, ['doctor', '--json'])).checks.find(
      ({ id }: { id: string }) => id === 'data-loss',
    );
  t.match(await diagnosed(), { result: 'pass' });
  writeMark(url, saved);
  const replay = /^replay the events from 2026-01-13T20:00:00.000Z onward: found at .* lacks 2 events/;
  t.match(await check(), { result: 'fail', count: 1, findings: [{ text: replay }] });
  t.match(await diagnosed(), { result: 'fail', message: replay, advice: /accept-loss/ });
  const verified = await here(t, env, ['verify']);
  t.equal(verified.code, 1);
  t.match(verified.stdout.trimEnd().split('\n').at(-1), /^Data loss: replay the events from 2026-01-13T20:/);
  t.notMatch(verified.stdout, 'No differences');
  t.match(jsonOf(await here(t, env, ['verify', '--json'])), { clean: false, data_losses: [replay] });
  t.strictSame(readMark(url), saved);
  t.strictSame(await db.selectFrom('data_losses').selectAll().execute(), []);
  const stopped = { code: 1, stderr: /start "benefits-sidecar serve"/ };
  t.match(await here(t, env, ['accept-loss', '--reason', 'replayed', '--yes']), stopped);

  const release = holdServeLock(url);
  t.match(await check(), { result: 'pass' }, 'serve has checked it at startup');
  await notice();
  t.match(await check(), { result: 'fail', count: 1 });
  t.match(await diagnosed(), { result: 'fail', message: replay });
  release();
  t.match(await check(), { result: 'fail', count: 1 }, 'reported once');
});

t.test('the high-water mark is saved while serving and on shutdown', async (t) => {
  const { db, url } = await stage(t);
  const mark = keepHighWaterMark(db, url, silentLog);
  await eventually(
    'the mark is saved',
    async () => readMark(url),
    (mark) => mark?.seq === 16,
  );
  await deliver(db, [deductionOf('one-more', { id: 'd-more' })], '2026-01-16T00:00:00.000Z');
  await mark.stop();
  t.strictSame(readMark(url), { position: 13, seq: 17, received_at: '2026-01-16T00:00:00.000Z' });
  t.notMatch(readFileSync(`${sqlitePath(url)}-hint`, 'utf8'), /one-more/, 'no ids');
  removeMark(url);
  t.equal(readMark(url), null);
  removeMark(url);
});

t.test('the high-water mark includes each commit of events immediately and never decreases', async (t) => {
  const { db, url } = await stage(t);
  const mark = keepHighWaterMark(db, url, silentLog);
  const received_at = '2026-01-16T00:00:00.000Z';
  mark.stored({ seq: 18, received_at });
  t.match(readMark(url), { seq: 18, received_at });
  // The database has 16 events and position 12.
  await mark.stop();
  t.strictSame(readMark(url), { position: 12, seq: 18, received_at });
  writeMark(url, { position: 13, seq: 18, received_at });
  await keepHighWaterMark(db, url, silentLog).stop();
  t.match(readMark(url), { position: 13 }, 'a file that returns older rows lowers nothing');
});
