/**
 * Opens and migrates a database when standard input has a line, and prints what it applied. With a number N it kills
 * itself with SIGKILL before the Nth statement of the migration; with a text, before that statement. The migrations are
 * the migrations of a folder, or of this release.
 */
import { once } from 'node:events';
import BetterSqlite3 from 'better-sqlite3';
import { Client } from 'pg';
import { migrate } from '../../src/database/migrate.ts';
import { openDatabase } from '../../src/database/open.ts';

const [url, dieBefore, folder] = process.argv.slice(2) as [string, string?, string?];

console.log('ready');
await once(process.stdin, 'data');
process.stdin.destroy();
const db = openDatabase(url);
if (dieBefore !== undefined) dieBeforeStatement(dieBefore);
console.log(
  JSON.stringify(
    await migrate(db, 'sandbox', new Date(), ...(folder === undefined ? [] : [{ folder: new URL(folder) }])),
  ),
);
await db.destroy();

function dieBeforeStatement(which: string): void {
  let statements = 0;
  const dieBefore = (query: unknown): void => {
    statements += 1;
    const text = (query as { text?: unknown }).text ?? query;
    if (which === text || which === String(statements)) process.kill(process.pid, 'SIGKILL');
  };
  const prepare = BetterSqlite3.prototype.prepare;
  BetterSqlite3.prototype.prepare = function (this: BetterSqlite3.Database, text: string) {
    dieBefore(text);
    return prepare.call(this, text);
  } as typeof prepare;
  const query = Client.prototype.query as (...parameters: unknown[]) => unknown;
  Client.prototype.query = function (this: Client, ...parameters: unknown[]) {
    dieBefore(parameters[0]);
    return query.apply(this, parameters);
  } as typeof Client.prototype.query;
}
