/** Requests exclusive access to a SQLite file, as SQLite does to remove an unused log. Prints whether it got it. */
import BetterSqlite3 from 'better-sqlite3';

const [, , path = ''] = process.argv;
const database = new BetterSqlite3(path, { timeout: 0 });
database.pragma('locking_mode = exclusive');
let said = 'alone';
try {
  database.prepare('select count(*) from sqlite_schema').get();
} catch (error) {
  said = (error as { code: string }).code;
}
process.stdout.write(`${said}\n`);
