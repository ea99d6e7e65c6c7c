/** The commands of API tokens. */
import { InvalidArgumentError, Option } from 'commander';
import { databaseNow } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { lockPayroll } from '../payroll/settings/lock.ts';
import { ROLE_NAMES, ROLES, type Role, roleOf, SCOPES } from '../security/scopes.ts';
import {
  createToken,
  isPerson,
  isTokenName,
  listTokens,
  PERSON_RULE,
  revokeToken,
  TOKEN_NAME_RULE,
  type TokenSummary,
} from '../security/tokens.ts';
import { employerId, period, several } from './arguments.ts';
import { actingIn, type Command, confirm } from './command.ts';
import { failed, wrongUsage } from './failure.ts';
import { type Column, counted, printList, printResult } from './output.ts';

export function addTokenCommands(program: Command): void {
  const token = program.subcommand('token', 'Manage the tokens of the private API.');
  token
    .subcommand('create', 'Create a token and print it. It cannot be shown again.')
    .records('token.create')
    .examples(
      'token create --name payroll --role integration --expires 365d',
      'token create --name "jo payroll" --role payroll-manager --person jo@example.com',
      'token create --name harbor --role payroll-specialist --employer harbor-clinic',
    )
    .requiredOption('--name <name>', 'The name in lists and logs (required)', tokenName)
    .addOption(new Option('--role <role...>', 'What the token permits, by role').choices(ROLE_NAMES))
    .addOption(new Option('--scope <scope...>', 'What the token permits, by scope').choices(SCOPES))
    .option('--employer <id...>', 'Limit the token to these employers (default: all)', several(employerId))
    .option('--person <id>', 'The person whose token it is, as in approvals', personId)
    .option('--expires <period>', 'Expire after this time, such as 90d (default: never)', period)
    .json()
    .doesOnDatabase(async (context, options: CreateOptions) => {
      // Prints only the token on stdout, so a script can capture it. Everything else goes to stderr.
      const { db, out, actor } = context;
      const { name, person = null, employer: employers = null, expires } = options;
      const scopes = scopesOf(options);
      const now = await databaseNow(db, context.now);
      const expiresAt = expires === undefined ? null : new Date(now.getTime() + expires);
      const asked = { name, scopes, person, employers, expiresAt, now, actor };
      const { tokenId, token } = await transact(db, (trx) => createToken(trx, asked));
      const expires_at = expiresAt?.toISOString() ?? null;
      printResult(out, { id: tokenId, token, name, scopes, person, employers, expires_at }, token);
      const expiry = expires_at === null ? 'never expires' : `expires ${expires_at}`;
      out.note(`${tokenId} (${name}) ${expiry}. The token cannot be shown again: store it as a secret.`);
    });
  token
    .subcommand('list', 'List all tokens, including revoked and expired ones.')
    .records('none')
    .examples('token list', 'token list --wide')
    .table()
    .doesOnDatabase(async ({ db, out, now }) => {
      const at = await databaseNow(db, now);
      const tokens = (await listTokens(db)).map((token) => shapeOf(token, at));
      const none = 'No tokens. Create one with "benefits-sidecar token create".';
      printResult(out, { data: tokens }, () => printList(out, { columns: COLUMNS, rows: tokens, none }));
    });
  token
    .subcommand('revoke', 'Revoke a token. Its requests are rejected from now on.')
    .records('token.revoke')
    .examples('token revoke grafana', 'token revoke tok_3f9c1a2b --yes')
    .argument('<name-or-id>', 'The ID, or the name if only one valid token has it')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, idOrName: string) => {
      const { db, out, now } = context;
      const named = (await listTokens(db)).filter(
        (token) => token.revokedAt === null && [token.tokenId, token.name].includes(idOrName),
      );
      const [only] = named;
      if (only !== undefined && named.length === 1) {
        await confirm(
          context,
          [`${only.tokenId} (${only.name}) permits ${only.scopes.join(', ')}.`],
          'Revoke it? Programs that use it lose access, and it cannot be made valid again.',
        );
      }
      const revoked = await transact(db, async (trx) => {
        // No run may become final by the approvals of the token while they end.
        await lockPayroll(trx);
        return revokeToken(trx, idOrName, actingIn(context, await databaseNow(trx, now)));
      });
      if (revoked === 0) {
        // A token pasted here by mistake must not be repeated in a log.
        const shown = idOrName.startsWith('bsc_') ? 'the argument is a token' : idOrName;
        throw failed(
          `no valid token has this id or name (${shown}): find it with "benefits-sidecar token list"`,
        );
      }
      printResult(out, { revoked }, `Revoked ${counted(revoked, 'token')}`);
    });
}

function scopesOf({ role = [], scope = [] }: CreateOptions): string[] {
  const scopes = new Set([...role.flatMap((name) => ROLES[name]), ...scope]);
  if (scopes.size === 0) throw wrongUsage('add --role or --scope: a token without a scope permits nothing');
  return SCOPES.filter((name) => scopes.has(name));
}

function tokenName(text: string): string {
  if (isTokenName(text)) return text;
  throw new InvalidArgumentError(`It must be ${TOKEN_NAME_RULE}.`);
}

export function personId(text: string): string {
  if (isPerson(text)) return text;
  throw new InvalidArgumentError(`It must be ${PERSON_RULE}.`);
}

type CreateOptions = {
  name: string;
  role?: Role[];
  scope?: string[];
  employer?: string[];
  person?: string;
  expires?: number;
};

const COLUMNS: readonly Column<ReturnType<typeof shapeOf>>[] = [
  ['id', (token) => token.id],
  ['name', (token) => token.name],
  ['role or scopes', (token) => token.role ?? token.scopes.join(' '), 'cut'],
  ['employers', (token) => token.employers?.join(' ') ?? 'all', 4],
  ['person', (token) => token.person, 3],
  ['state', (token) => token.state],
  ['created', (token) => token.created_at, 2],
  ['expires', (token) => token.expires_at, 1],
];

function shapeOf({ createdAt, expiresAt, revokedAt, ...token }: TokenSummary, now: Date) {
  const expired = expiresAt !== null && expiresAt <= now.toISOString();
  return {
    id: token.tokenId,
    name: token.name,
    role: roleOf(token.scopes),
    scopes: token.scopes,
    person: token.person,
    employers: token.employers,
    state: revokedAt !== null ? 'revoked' : expired ? 'expired' : 'valid',
    created_at: createdAt,
    expires_at: expiresAt,
    revoked_at: revokedAt,
  };
}
