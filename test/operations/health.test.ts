import { notReadyReason } from '../../src/database/errors.ts';
import { AppError } from '../../src/errors.ts';
import { createReadiness } from '../../src/operations/health.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine } from '../support/engine.ts';

const coded = (code: string) => Object.assign(new Error('of the engine'), { code });

onEitherEngine('the reason why a process cannot commit is one of five words', (t) => {
  const cases: [unknown, string][] = [
    [new AppError('LOCK_TIMEOUT', 'locked'), 'locked'],
    [coded('SQLITE_BUSY'), 'locked'],
    [coded('SQLITE_BUSY_SNAPSHOT'), 'locked'],
    [coded('SQLITE_FULL'), 'disk-full'],
    [coded('SQLITE_IOERR_SHMSIZE'), 'disk-full'],
    [coded('53100'), 'disk-full'],
    [new AppError('CONNECTION_LOST', 'ECONNREFUSED'), 'unreachable'],
    [coded('57P03'), 'unreachable'],
    [coded('53300'), 'unreachable'],
    [coded('SQLITE_READONLY_DBMOVED'), 'read-only'],
    [coded('25006'), 'read-only'],
    [coded('SQLITE_IOERR_FSYNC'), 'failed'],
    [new AppError('NOT_DURABLE', 'fsync is off'), 'failed'],
    [new Error('no code'), 'failed'],
    [null, 'failed'],
  ];
  for (const [error, expected] of cases) t.equal(notReadyReason(error), expected, `${error}`);
  t.end();
});

onEitherEngine('the check commits a transaction and caches its result for a second', async (t) => {
  const { db } = await scratch(t);
  let at = Date.parse('2026-03-01T12:00:00.000Z');
  const whyNotReady = createReadiness(db, () => new Date(at));
  const probed = async () =>
    (await db.selectFrom('instance').select('probed_at').executeTakeFirst())?.probed_at;
  t.equal(await whyNotReady(), null);
  t.equal(await probed(), '2026-03-01T12:00:00.000Z');
  at += 900;
  t.equal(await whyNotReady(), null);
  t.equal(await probed(), '2026-03-01T12:00:00.000Z', 'not asked again');
  at += 200;
  t.equal(await whyNotReady(), null);
  t.equal(await probed(), '2026-03-01T12:00:01.100Z');
});
