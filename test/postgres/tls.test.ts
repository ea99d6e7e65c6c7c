/** TLS to the server, as set in the parameters of the address. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import t from 'tap';
import { openDatabase } from '../../src/database/open.ts';
import type { Db } from '../../src/database/tables.ts';
import { open } from '../database/scratch.ts';
import { newDatabaseUrl, useOwnPostgres } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';

await useOwnPostgres();

/** Creates a self-signed certificate for 127.0.0.1 where the server finds it. Returns its path. */
function makeCertificate(folder: string): string {
  const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
  const names = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-out', certificate, '-keyout', key];
  const argv = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...names, ...files];
  execFileSync('openssl', argv, { stdio: 'ignore' });
  // The server requires a key that only it can read.
  const { uid, gid } = statSync(folder);
  for (const file of [certificate, key]) chownSync(file, uid, gid);
  chmodSync(key, 0o600);
  return certificate;
}

async function isEncrypted(db: Db): Promise<boolean | undefined> {
  const { rows } = await sql<{ ssl: boolean }>`
    select ssl from pg_stat_ssl where pid = pg_backend_pid()`.execute(db);
  return rows[0]?.ssl;
}

const hasOpenssl = spawnSync('openssl', ['version']).error === undefined;
const skip = hasOpenssl ? false : 'openssl, which creates the certificate, is not installed';

t.test('TLS to PostgreSQL follows the parameters of the address', { skip }, async (t) => {
  const url = await newDatabaseUrl(t);
  const db = open(t, url);
  const encrypted = async (parameters: string): Promise<boolean | undefined> => {
    const one = openDatabase(`${url}?${parameters}`);
    return isEncrypted(one).finally(() => one.destroy());
  };
  await t.rejects(encrypted('sslmode=require'), { code: 'CONNECTION_LOST' }, 'the server has no TLS yet');

  const shown = await sql<{ data_directory: string }>`show data_directory`.execute(db);
  const certificate = makeCertificate(shown.rows[0]?.data_directory as string);
  await sql`alter system set ssl = on`.execute(db);
  await sql`select pg_reload_conf()`.execute(db);
  await eventually('the server supports TLS', () => encrypted('sslmode=no-verify'), Boolean);

  t.equal(await encrypted('sslmode=disable'), false);
  t.equal(await encrypted('application_name=x'), false, 'TLS is not used unless requested');
  for (const mode of ['require', 'verify-ca', 'verify-full']) {
    t.equal(await encrypted(`sslmode=${mode}&sslrootcert=${certificate}`), true, mode);
    const rejected = { code: 'CONNECTION_LOST', message: /self-signed certificate/ };
    await t.rejects(encrypted(`sslmode=${mode}`), rejected, `${mode}: an unknown certificate`);
  }
});
