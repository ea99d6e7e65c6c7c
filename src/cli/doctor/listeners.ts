import { createServer } from 'node:net';
import { type Listener, readDatabaseUrl, readListeners, readReceiver } from '../../config.ts';
import { codeOf } from '../../database/errors.ts';
import { isServed } from '../../database/open.ts';
import type { Environment } from '../../environment.ts';
import { ask } from './ask.ts';
import { type Finding, fail, findingsOf, pass, unknown, warn } from './finding.ts';

/** Whether a `serve` runs, and whether the ports are its own or free. */
export async function checkListeners(env: Environment): Promise<Finding[]> {
  const [receiver, api] = await Promise.all([
    findingsOf('listeners.receiver', () => checkListener('RECEIVER', readReceiver(env), env)),
    findingsOf('listeners.api', () => checkListener('API', readListeners(env).api, env)),
  ]);
  return [
    ...(await findingsOf('serving', async () => [checkServing(readDatabaseUrl(env))])),
    ...receiver,
    ...api,
  ];
}

function checkServing(databaseUrl: string): Finding {
  const served = isServed(databaseUrl);
  if (served === null)
    return unknown('serving', 'any number may serve a PostgreSQL database, and none is counted');
  return pass(
    'serving',
    served ? 'a process serves this database now' : 'no process serves this database now',
  );
}

async function checkListener(
  prefix: 'RECEIVER' | 'API',
  listener: Listener,
  env: Environment,
): Promise<Finding[]> {
  const id = `listeners.${prefix.toLowerCase()}`;
  const { host, port } = listener;
  if (port === 0) return [pass(id, 'it takes any port that is free')];
  const where = `${host} port ${port}`;
  const code = await bound(listener);
  if (code === null) {
    const free = `${where} is free`;
    if (isServed(readDatabaseUrl(env)) !== true) return [pass(id, free)];
    return [
      warn(
        id,
        `${free}, although a process serves the database`,
        'That process has other ports than this shell.',
      ),
    ];
  }
  if (code !== 'EADDRINUSE') {
    return [fail(id, `${where} can not be taken: ${code}`, 'Choose another host or port for this listener.')];
  }
  const answer = await ask(`http://${reachable(host)}:${port}/livez`, null);
  if ('status' in answer && answer.status === 200) {
    if (isServed(readDatabaseUrl(env)) !== false) return [pass(id, `a sidecar answers at ${where}`)];
    return [
      fail(
        id,
        `another sidecar has ${where}: it does not serve this database`,
        `Set ${prefix}_PORT to another port, or stop it.`,
      ),
    ];
  }
  const what = 'status' in answer ? `answers ${answer.status}` : `does not answer (${answer.failure})`;
  return [
    fail(
      id,
      `${where} is taken by something that ${what}`,
      `Stop it, or set ${prefix}_PORT to another port.`,
    ),
  ];
}

/** Takes the port for a moment. Answers why it can't be had, or null. */
function bound({ host, port }: Listener): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => resolve(codeOf(error)));
    server.listen(port, host, () => server.close(() => resolve(null)));
  });
}

/** An address to call: that of all addresses is none. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
