/**
 * Opens and migrates a database at a word on standard input, and says what it applied. With a number N it kills
 * itself, as hard as the machine can, before the Nth statement of the migration; with a text, before that statement.
 */
import { once } from 'node:events';
import BetterSqlite3 from 'better-sqlite3';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';

const [url, dieBefore] = process.argv.slice(2) as [string, string | undefined];

console.log('ready');
await once(process.stdin, 'data');
process.stdin.destroy();
const db = openDatabase(url);
if (dieBefore !== undefined) dieBeforeStatement(dieBefore);
console.log(JSON.stringify(await migrate(db, 'sandbox', new Date())));
await db.destroy();

function dieBeforeStatement(which: string): void {
  const prepare = BetterSqlite3.prototype.prepare;
  let statements = 0;
  BetterSqlite3.prototype.prepare = function (this: BetterSqlite3.Database, text: string) {
    statements += 1;
    if (which === text || which === String(statements)) process.kill(process.pid, 'SIGKILL');
    return prepare.call(this, text);
  } as typeof prepare;
}
