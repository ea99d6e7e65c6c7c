import { transact } from '../database/transaction.ts';
import { revokeToken } from '../security/tokens.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';

/** Refuses a token from now on. It did not work when no valid token has the name or id. */
export function tokenRevoke(context: Context, idOrName: string, { json }: { json?: true }): Promise<number> {
  const { out, now } = context;
  return withDatabase(context, async (db) => {
    const revoked = await transact(db, (trx) => revokeToken(trx, idOrName, now()));
    if (revoked === 0) {
      // A token pasted here by mistake must not be repeated into a log.
      const named = idOrName.startsWith('bsc_') ? 'a token is no name' : printable(idOrName);
      throw new CommandFailed(
        `no token to revoke (${named}): give an id or a name of "benefits-sidecar token list" that is not revoked yet`,
      );
    }
    if (json) out.json({ revoked });
    else out.print(`revoked ${revoked} ${revoked === 1 ? 'token' : 'tokens'}`);
    return 0;
  });
}
