/** Holds a database's write lock until its standard input ends. */
import BetterSqlite3 from 'better-sqlite3';

const handle = new BetterSqlite3(process.argv[2] as string);
handle.exec('BEGIN IMMEDIATE');
console.log('held');
process.stdin.resume().once('end', () => {
  handle.exec('COMMIT');
  handle.close();
});
