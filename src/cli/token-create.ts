import { transact } from '../database/transaction.ts';
import { createToken } from '../security/tokens.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';

type Options = { name: string; scope: string[]; expires?: number; json?: true };

/** Prints the token alone on stdout, so that a script can take it; the rest is a note. */
export function tokenCreate(context: Context, { name, scope, expires, json }: Options): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const now = context.now();
    const expiresAt = expires === undefined ? null : new Date(now.getTime() + expires);
    const { tokenId, token } = await transact(db, (trx) =>
      createToken(trx, { name, scopes: scope, expiresAt, now }),
    );
    const expires_at = expiresAt?.toISOString() ?? null;
    if (json) out.json({ token_id: tokenId, token, name, scopes: scope, expires_at });
    else out.print(token);
    out.note(
      `${tokenId} (${name}), ${expires_at === null ? 'never expires' : `expires ${expires_at}`}. It is shown only now: keep it where secrets are kept.`,
    );
    return 0;
  });
}
