import { engineOfUrl } from '../database/engine.ts';
import { sqlitePath } from '../database/open.ts';

/** Which database a `DATABASE_URL` means, for people: without the user and the password. */
export function nameOfDatabase(databaseUrl: string): string {
  if (engineOfUrl(databaseUrl) === 'sqlite') return sqlitePath(databaseUrl);
  const { host, pathname } = new URL(databaseUrl);
  return `${decodeURIComponent(pathname.slice(1)) || 'the default database'} at ${host || 'this machine'}`;
}
