import { statSync } from 'node:fs';
import { ConfigError, plainHttpVariables, readListeners } from '../../config.ts';
import { type Environment, given } from '../../environment.ts';
import { type Finding, fail, pass, warn } from './finding.ts';
import { meaningOf, readAlone, SETTINGS } from './settings.ts';

/** Each variable by itself, so that all that is wrong is told at once; what it means now, and no secret. */
export function checkConfiguration(env: Environment): Finding[] {
  return Object.keys(SETTINGS).map((name) => {
    const id = `configuration.${name}`;
    try {
      const meaning = meaningOf(name, env);
      assertApart(name, env);
      return told(name, meaning, env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return fail(id, error.message, 'Set it as the README describes under "Configuration".');
    }
  });
}

/** What is wrong only beside other variables: told on the line of the one that the message begins with. */
function assertApart(name: string, env: Environment): void {
  if (name !== 'API_PORT') return;
  try {
    readListeners(env);
  } catch (error) {
    if (error instanceof ConfigError && error.variable === name) throw error;
  }
}

function told(name: string, meaning: string, env: Environment): Finding {
  const id = `configuration.${name}`;
  if (name === 'API_HOST' && !isOwnMachine(given(env, name))) {
    return warn(
      id,
      `${meaning}: the private listener can be reached from elsewhere`,
      'Put TLS in front of it, and let only those come who should: docs/console.md, "Reaching it". Or leave it at 127.0.0.1.',
    );
  }
  if (plainHttpVariables(readAlone(name, env)).includes(name)) {
    return warn(
      id,
      `${meaning}: keys and personal data cross the network unencrypted`,
      'Use an https:// address. With BENEFITS_ENVIRONMENT=live this one is refused.',
    );
  }
  const file = given(env, `${name}_FILE`);
  if (file === undefined)
    return pass(id, given(env, name) === undefined ? `${meaning} (the default)` : meaning);
  if (!isReadByAll(file)) return pass(id, `${meaning}, from its file`);
  return warn(
    id,
    `${meaning}, from its file, which every user of this machine may read`,
    `Let only the user of the sidecar read it: chmod 600 (in Kubernetes a secret's defaultMode 0400).`,
  );
}

/** For others: what a group may is its keeper's choice. Windows says nothing by these bits. */
function isReadByAll(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o004) !== 0;
}

/** Whether only this machine can reach a listener there; by default it is so. */
function isOwnMachine(host = '127.0.0.1'): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
