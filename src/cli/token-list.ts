import { listTokens, type TokenSummary } from '../security/tokens.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { printTable } from './table.ts';

/** Every token ever made, the newest last; never the token itself. */
export function tokenList(context: Context, { json }: { json?: true }): Promise<number> {
  const { out, now } = context;
  return withDatabase(context, async (db) => {
    const tokens = (await listTokens(db)).map((token) => shapeOf(token, now()));
    if (json) out.json({ data: tokens });
    else if (tokens.length === 0) out.note('no tokens yet: "benefits-sidecar token create" makes one');
    else {
      printTable(
        out,
        ['id', 'name', 'scopes', 'state', 'created', 'expires'],
        tokens.map((token) => [
          token.token_id,
          token.name,
          token.scopes.join(' '),
          token.state,
          token.created_at,
          token.expires_at,
        ]),
      );
    }
    return 0;
  });
}

function shapeOf({ tokenId, name, scopes, createdAt, expiresAt, revokedAt }: TokenSummary, now: Date) {
  const expired = expiresAt !== null && expiresAt <= now.toISOString();
  return {
    token_id: tokenId,
    name,
    scopes,
    state: revokedAt !== null ? 'revoked' : expired ? 'expired' : 'valid',
    created_at: createdAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
  };
}
