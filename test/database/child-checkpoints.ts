/** Checkpoints, vacuums and restarts the log of a database from another process, until its input ends. */
import BetterSqlite3 from 'better-sqlite3';

const path = process.argv[2] as string;
const STATEMENTS = [
  'PRAGMA wal_checkpoint(TRUNCATE)',
  'PRAGMA wal_checkpoint(PASSIVE)',
  'PRAGMA wal_checkpoint(RESTART)',
  'PRAGMA wal_checkpoint(FULL)',
  'VACUUM',
];

const handle = new BetterSqlite3(path, { timeout: 0 });
// After a restart the log is truncated to this size.
handle.pragma('journal_size_limit = 0');
let running = true;
process.stdin.on('end', () => {
  running = false;
});
process.stdin.resume();
console.log('ready');
for (let nth = 0; running; nth += 1) {
  try {
    handle.exec(STATEMENTS[nth % STATEMENTS.length] as string);
  } catch (error) {
    if (!/^SQLITE_(BUSY|LOCKED)/.test((error as { code: string }).code)) throw error;
  }
  await new Promise(setImmediate);
}
handle.close();
console.log('done');
