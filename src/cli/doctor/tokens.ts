import { readApi } from '../../config.ts';
import type { Db } from '../../database/tables.ts';
import type { Environment } from '../../environment.ts';
import { listTokens } from '../../security/tokens.ts';
import { type Finding, pass, warn } from './finding.ts';

/** Long enough to make a new one and to bring it to whoever uses the old one. */
const SOON_DAYS = 14;
/** 32 random characters of hexadecimal digits, the smallest alphabet in use, have fewer than 8 kinds once in millions. */
const KINDS_LEAST = 8;

/** Who may call the private listener: whether anybody can, whose token ends soon, and whether API_TOKEN can be guessed. */
export async function checkTokens(db: Db, env: Environment, now: Date): Promise<Finding[]> {
  const { token: first } = readApi(env);
  const at = now.toISOString();
  const valid = (await listTokens(db)).filter(
    ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || expiresAt > at),
  );
  const soon = new Date(now.getTime() + SOON_DAYS * 86_400_000).toISOString();
  const ending = valid.filter(({ expiresAt }) => expiresAt !== null && expiresAt < soon);
  const message = `${valid.length} valid ${first === null ? 'and no API_TOKEN' : 'beside API_TOKEN'}`;
  const findings = [pass('tokens', message)];
  if (valid.length === 0 && first === null) {
    findings[0] = warn(
      'tokens',
      'nobody can call the private listener',
      'Make a token for each program with "benefits-sidecar token create".',
    );
  } else if (ending.length > 0) {
    findings[0] = warn(
      'tokens',
      `${message}; within ${SOON_DAYS} days ends ${ending.map(({ name }) => name).join(', ')}`,
      'Make a new one with "benefits-sidecar token create" and bring it to its user before that.',
    );
  }
  if (first !== null && isMadeUp(first)) {
    findings.push(
      warn(
        'tokens.first',
        'API_TOKEN looks made up: a random one has more kinds of characters',
        'Make it by "openssl rand -base64 32": it may do everything.',
      ),
    );
  }
  return findings;
}

/** Few kinds of characters, or the same ones over again. */
export function isMadeUp(token: string): boolean {
  return new Set(token).size < KINDS_LEAST || /^(.{1,16})\1+$/.test(token);
}
