import { readWebhookSecrets } from '../../config.ts';
import type { Db } from '../../database/tables.ts';
import type { Environment } from '../../environment.ts';
import { describeEventAge, readEventAge } from '../../inbox/arrivals.ts';
import { refusedSince } from '../../inbox/refusals.ts';
import { type Finding, pass, unknown, warn } from './finding.ts';

/** The provider retries an event for some 27 hours: what was refused since then can still come. */
const LATELY_HOURS = 28;

/**
 * Whether the configured secrets are the provider's shows only when its events come: accepted ones prove it,
 * refused ones hint at the opposite, though anybody can send those.
 */
export async function checkWebhooks(db: Db, env: Environment, now: Date): Promise<Finding[]> {
  const id = 'webhook-secrets';
  const { length } = readWebhookSecrets(env);
  const since = new Date(now.getTime() - LATELY_HOURS * 3_600_000);
  const age = await readEventAge(db);
  const counts = await refusedSince(db, since);
  const refused = counts.reduce((sum, { refused }) => sum + refused, 0);
  const message = `${length} configured; ${describeEventAge(age, now)}; ${refused} deliveries refused in the last ${LATELY_HOURS} hours`;
  if (refused > 0) {
    const causes = counts.map(({ cause }) => cause).join(', ');
    return [
      warn(
        id,
        `${message} (${causes})`,
        "If they were the provider's: compare WEBHOOK_SECRETS with its portal and this machine's clock with the time, then have them resent.",
      ),
    ];
  }
  return [age.hasEvents ? pass(id, message) : unknown(id, message)];
}
