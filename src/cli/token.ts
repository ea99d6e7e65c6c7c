/** The commands of API tokens. */
import type { Command } from 'commander';
import { transact } from '../database/transaction.ts';
import { AppError } from '../errors.ts';
import { createToken, listTokens, revokeToken, SCOPES, type TokenSummary } from '../security/tokens.ts';
import { jsonOption, period } from './arguments.ts';
import { type Act, type Context, withDatabase } from './context.ts';
import { counted, printable, printTable } from './output.ts';

export function addTokenCommands(program: Command, act: Act): void {
  const token = program.command('token').description('who may call the private listener');
  token
    .command('create')
    .description('make a token and print it, the only time that it is seen')
    .requiredOption('--name <name>', 'what it is called in lists and logs (required)')
    .requiredOption('--scope <scope...>', `what it may do (required): ${SCOPES.join(', ')}`)
    .option('--expires <period>', 'refuse it after this time, such as 90d', period)
    .addOption(jsonOption())
    .action(act(tokenCreate));
  token
    .command('list')
    .description('all tokens, revoked and expired ones too')
    .addOption(jsonOption())
    .action(act(tokenList));
  token
    .command('revoke')
    .description('refuse a token from now on')
    .argument('<name-or-id>', 'its id, or its name where only one valid token has it')
    .addOption(jsonOption())
    .action(act(tokenRevoke));
}

type CreateOptions = { name: string; scope: string[]; expires?: number; json?: true };

/** Prints only the token on stdout, so a script can capture it. The rest is a note. */
function tokenCreate(context: Context, { name, scope, expires, json }: CreateOptions): Promise<number> {
  const { out } = context;
  return withDatabase(context, async (db) => {
    const now = context.now();
    const expiresAt = expires === undefined ? null : new Date(now.getTime() + expires);
    const { tokenId, token } = await transact(db, (trx) =>
      createToken(trx, { name, scopes: scope, expiresAt, now }),
    );
    const expires_at = expiresAt?.toISOString() ?? null;
    if (json) out.json({ id: tokenId, token, name, scopes: scope, expires_at });
    else out.print(token);
    out.note(
      `${tokenId} (${name}), ${expires_at === null ? 'never expires' : `expires ${expires_at}`}. It is shown only now: keep it where secrets are kept.`,
    );
    return 0;
  });
}

/** Prints every token ever created, the newest last, without the token itself. */
function tokenList(context: Context, { json }: { json?: true }): Promise<number> {
  const { out, now } = context;
  return withDatabase(context, async (db) => {
    const tokens = (await listTokens(db)).map((token) => shapeOf(token, now()));
    if (json) out.json({ data: tokens, has_more: false, next_cursor: null });
    else if (tokens.length === 0) out.note('no tokens yet: "benefits-sidecar token create" makes one');
    else {
      printTable(
        out,
        ['id', 'name', 'scopes', 'state', 'created', 'expires'],
        tokens.map((token) => [
          token.id,
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
    id: tokenId,
    name,
    scopes,
    state: revokedAt !== null ? 'revoked' : expired ? 'expired' : 'valid',
    created_at: createdAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
  };
}

/** Revokes a token. Fails if no valid token has the name or id. */
function tokenRevoke(context: Context, idOrName: string, { json }: { json?: true }): Promise<number> {
  const { out, now } = context;
  return withDatabase(context, async (db) => {
    const revoked = await transact(db, (trx) => revokeToken(trx, idOrName, now()));
    if (revoked === 0) {
      // A token pasted here by mistake must not be repeated in a log.
      const named = idOrName.startsWith('bsc_') ? 'a token is no name' : printable(idOrName);
      throw new AppError(
        'COMMAND_FAILED',
        `no token to revoke (${named}): give an id or a name of "benefits-sidecar token list" that is not revoked yet`,
      );
    }
    if (json) out.json({ revoked });
    else out.print(`revoked ${counted(revoked, 'token')}`);
    return 0;
  });
}
