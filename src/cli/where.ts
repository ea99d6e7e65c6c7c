import { engineOfUrl } from '../database/engine.ts';
import { sqlitePath } from '../database/open.ts';

/** Which database a `DATABASE_URL` means, for people: without the user and the password. */
export function nameOfDatabase(databaseUrl: string): string {
  if (engineOfUrl(databaseUrl) === 'sqlite') return sqlitePath(databaseUrl);
  const { host, pathname } = new URL(databaseUrl);
  return `${decodeURIComponent(pathname.slice(1)) || 'the default database'} at ${host || 'this machine'}`;
}

/** How to make a backup of a PostgreSQL database with its own tool: without the password, which it asks for or is given. */
export function dumpWith(databaseUrl: string, file: string): string {
  return `PostgreSQL has a tool of its own for this, which works beside running sidecars: ${withPassword('pg_dump', `--format=custom --file=${quoted(file)} --dbname=${quoted(withoutPassword(databaseUrl))}`)}`;
}

/** How to bring such a backup back. */
export function restoreWith(databaseUrl: string, file: string): string {
  return `PostgreSQL has a tool of its own for this: stop all sidecars, make an empty database, then: ${withPassword('pg_restore', `--no-owner --exit-on-error --dbname=${quoted(withoutPassword(databaseUrl))} ${quoted(file)}`)}`;
}

function withPassword(tool: string, rest: string): string {
  return `PGPASSWORD=… ${tool} ${rest}`;
}

function withoutPassword(databaseUrl: string): string {
  const url = new URL(databaseUrl);
  url.password = '';
  return url.href;
}

/** For a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
