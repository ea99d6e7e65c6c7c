/** Reads where notifications are sent, how they are signed, and which ones. */
import {
  address,
  configError,
  type Environment,
  encrypted,
  given,
  readSecretFile,
  required,
  secret,
  webhookSecrets,
} from './environment.ts';

export type NotifyConfig = {
  /** An address on a private network is allowed: only the configuration sets it. */
  readonly url: string;
  /** `whsec_…`; all of them sign. Two during a rotation. */
  readonly secrets: readonly string[];
  /** The file with the secrets, read again when the receiver refuses a signature. */
  readonly secretsFile: string | null;
  /** The names in `NOTIFY_TYPES`, which `notifications/types.ts` checks; null: every type. */
  readonly types: readonly string[] | null;
};

const SECRETS = 'NOTIFY_SECRETS';
const OF_NOTIFICATIONS = [SECRETS, `${SECRETS}_FILE`, 'NOTIFY_TYPES'];

export function readNotify(env: Environment): NotifyConfig | null {
  const url = given(env, 'NOTIFY_URL');
  if (url === undefined) {
    const orphan = OF_NOTIFICATIONS.find((name) => given(env, name) !== undefined);
    if (orphan !== undefined) throw configError('NOTIFY_URL', `is not set, although ${orphan} is`);
    return null;
  }
  if (address(url) === null) {
    throw configError('NOTIFY_URL', 'must be an http:// or https:// address without user or fragment');
  }
  const types = given(env, 'NOTIFY_TYPES')
    ?.split(/[\s,]+/)
    .filter(Boolean);
  return Object.freeze({
    url: encrypted(env, 'NOTIFY_URL', url),
    secrets: webhookSecrets(SECRETS, required(SECRETS, secret(env, SECRETS))),
    secretsFile: given(env, `${SECRETS}_FILE`) ?? null,
    types: types === undefined ? null : Object.freeze(types),
  });
}

/** Returns the secrets, read again from their file, so that new ones are used without a restart. */
export function currentNotifySecrets({ secrets, secretsFile }: NotifyConfig): readonly string[] {
  return secretsFile === null ? secrets : webhookSecrets(SECRETS, readSecretFile(SECRETS, secretsFile));
}
