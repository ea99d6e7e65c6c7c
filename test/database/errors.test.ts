import t from 'tap';
import { isBusy, isFatal, isUnavailable, rolledBack } from '../../src/database/errors.ts';
import { AppError, codeOf } from '../../src/errors.ts';

const engine = (code: string) => Object.assign(new Error('from the engine'), { code });

// For each error: whether the work is retried, and whether the process must end.
const MEANINGS: [unknown, { unavailable: boolean; fatal: boolean; busy: boolean }][] = [
  [engine('SQLITE_BUSY'), { unavailable: true, fatal: false, busy: true }],
  [engine('SQLITE_BUSY_SNAPSHOT'), { unavailable: true, fatal: false, busy: true }],
  [engine('SQLITE_LOCKED'), { unavailable: true, fatal: false, busy: false }],
  [engine('SQLITE_FULL'), { unavailable: true, fatal: false, busy: false }],
  [engine('SQLITE_IOERR_SHMSIZE'), { unavailable: true, fatal: false, busy: false }],
  [engine('SQLITE_IOERR_GETTEMPPATH'), { unavailable: true, fatal: false, busy: false }],
  [engine('SQLITE_CANTOPEN'), { unavailable: true, fatal: false, busy: false }],
  [engine('SQLITE_IOERR_FSYNC'), { unavailable: true, fatal: true, busy: false }],
  [engine('SQLITE_IOERR_WRITE'), { unavailable: true, fatal: true, busy: false }],
  [engine('SQLITE_CORRUPT'), { unavailable: true, fatal: true, busy: false }],
  [engine('SQLITE_NOTADB'), { unavailable: true, fatal: true, busy: false }],
  [engine('SQLITE_CONSTRAINT_UNIQUE'), { unavailable: false, fatal: false, busy: false }],
  [engine('SQLITE_ERROR'), { unavailable: false, fatal: false, busy: false }],
  [new AppError('LOCK_TIMEOUT', 'locked'), { unavailable: true, fatal: false, busy: false }],
  [rolledBack(), { unavailable: true, fatal: false, busy: false }],
  [new TypeError('of the content'), { unavailable: false, fatal: false, busy: false }],
  [null, { unavailable: false, fatal: false, busy: false }],
];

for (const [error, meaning] of MEANINGS) {
  t.test(`${codeOf(error) || error} is classified`, async (t) => {
    const seen = { unavailable: isUnavailable(error), fatal: isFatal(error), busy: isBusy(error) };
    t.strictSame(seen, meaning);
  });
}
