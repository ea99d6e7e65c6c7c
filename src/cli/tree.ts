/**
 * The tree of commands: their names, options and help. Each command's own file is loaded when it runs, so that
 * help costs nothing and `serve` loads only what it serves with.
 */
import { Command } from 'commander';
import { SCOPES } from '../security/tokens.ts';
import { VERSION } from '../version.ts';
import { address, fault, jsonOption, period, several, wholeNumber } from './arguments.ts';
import type { Context, Lazily } from './context.ts';
import { printable } from './output.ts';
import { addEmploymentCommands } from './tree-employment.ts';
import { addOperationCommands } from './tree-operations.ts';
import { addPayrollCommands } from './tree-payroll.ts';
import { addRecordCommands } from './tree-records.ts';
import { releaseYoungGenerations } from './young-generation.ts';

/** More would only wait in the receiver's queue. */
const CONCURRENCY_MOST = 256;
/** Beyond this a simulated employer takes seconds to make. */
const EMPLOYEES_MOST = 100_000;
const SEED_MOST = 2 ** 31 - 1;

/** Builds the tree. `ended` is told the exit code of the command that ran. */
export function createTree(context: Context, ended: (exitCode: number) => void): Command {
  const { out } = context;
  const lazily: Lazily =
    (load) =>
    async (...given) => {
      const run = await load();
      releaseYoungGenerations();
      ended(await run(context, ...(given as never[])));
    };
  const tree = new Command('benefits-sidecar')
    .description('The payroll side of an embedded-benefits integration.')
    .version(VERSION)
    .configureOutput({
      writeOut: (text) => out.print(text.trimEnd()),
      writeErr: (text) => out.note(text.trimEnd()),
      outputError: (text, write) => write(errorLines(text)),
      getOutHelpWidth: () => out.stdout.columns ?? 100,
      getErrHelpWidth: () => out.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError('("benefits-sidecar help COMMAND" tells how)')
    .exitOverride();
  addRunning(tree, lazily);
  addChecking(tree, lazily);
  addOperationCommands(tree, lazily);
  addSecrets(tree, lazily);
  addRecordCommands(tree, lazily);
  addEmploymentCommands(tree, lazily);
  addPayrollCommands(tree, lazily);
  return tree;
}

/** An error quotes arguments, which may hold line ends. Only a suggestion is on a line of its own. */
function errorLines(text: string): string {
  return text
    .trimEnd()
    .split(/\n(?=\(Did you mean [^\n]*\)$)/)
    .map(printable)
    .join('\n');
}

function addRunning(tree: Command, lazily: Lazily): void {
  tree
    .command('serve')
    .description('receive webhooks, keep the ledger, send what is owed; until SIGTERM')
    .option('--no-migrate', 'refuse a database that lacks migrations instead of migrating it')
    .action(lazily(async () => (await import('./serve.ts')).serve));
  tree
    .command('migrate')
    .description("bring the database's schema up to this release")
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./migrate.ts')).migrate));
  tree
    .command('copy')
    .description(
      'move everything from a SQLite file to an empty PostgreSQL database, while nothing serves either',
    )
    .requiredOption('--from <url>', 'sqlite: and the path of the file (required)')
    .option('--to <url>', 'postgres://… (default: DATABASE_URL, where its password is in no process list)')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./copy.ts')).copy));
  tree
    .command('demo')
    .description('play the whole loop with a simulated benefits service and payroll system')
    .option('--once', 'end after the last step instead of staying up')
    .action(lazily(async () => (await import('./play-demo.ts')).demo));
  tree
    .command('simulate')
    .description('be a benefits service to develop against; until Ctrl-C')
    .option(
      '--seed <number>',
      'decides the employers, employees and enrolments',
      wholeNumber(0, SEED_MOST),
      1,
    )
    .option('--port <port>', 'listen on this port of 127.0.0.1', wholeNumber(0, 65_535), 8090)
    .option('--webhook-url <url>', 'send events here (default: http://127.0.0.1:8080/webhooks)', address)
    .option('--employer <id>', 'an employer to serve; may be repeated', several(String))
    .option('--employees <number>', 'employees of each employer', wholeNumber(1, EMPLOYEES_MOST), 5)
    .option('--censuses <folder>', "write payroll's censuses there, for CENSUS_SOURCE=dir:FOLDER")
    .option('--scenario <name>', 'play this scenario, then stay up; list shows them all')
    .option(
      '--fault <fault>',
      'do this wrong on purpose, NAME[=VALUE][:COUNT][@ID]; may be repeated',
      several(fault),
    )
    .action(lazily(async () => (await import('./simulate.ts')).simulate));
  tree
    .command('replay')
    .description('sign events from files and post them to a running receiver')
    .argument('<path...>', 'files of events, or folders of them, such as fixtures/')
    .option('--url <url>', 'the address of the receiver (default: by RECEIVER_HOST and _PORT)', address)
    .option('--force', 'also when BENEFITS_ENVIRONMENT is live: what is posted stays in the ledger')
    .option(
      '--concurrency <number>',
      'events under way at once; 1 keeps their order',
      wholeNumber(1, CONCURRENCY_MOST),
      1,
    )
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./replay.ts')).replay));
}

function addChecking(tree: Command, lazily: Lazily): void {
  tree
    .command('doctor')
    .description('check configuration, database, clock, the service and the census source')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./doctor.ts')).doctor));
  tree
    .command('readiness')
    .description('say whether a payroll run can trust the ledger now')
    .option('--employer <id>', 'look at one employer where a check concerns one')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./readiness.ts')).readiness));
}

function addSecrets(tree: Command, lazily: Lazily): void {
  const keys = tree.command('keys').description('keys that stored personal data is sealed with');
  keys
    .command('generate')
    .description('make a key for DATA_KEYS')
    .action(lazily(async () => (await import('./keys-generate.ts')).keysGenerate));
  keys
    .command('rotate')
    .description('seal everything again with the first of DATA_KEYS, beside a running serve')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./keys-rotate.ts')).keysRotate));

  const token = tree.command('token').description('who may call the private listener');
  token
    .command('create')
    .description('make a token and print it, the only time that it is seen')
    .requiredOption('--name <name>', 'what it is called in lists and logs (required)')
    .requiredOption('--scope <scope...>', `what it may do (required): ${SCOPES.join(', ')}`)
    .option('--expires <period>', 'refuse it after this time, such as 90d', period)
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./token-create.ts')).tokenCreate));
  token
    .command('list')
    .description('all tokens, revoked and expired ones too')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./token-list.ts')).tokenList));
  token
    .command('revoke')
    .description('refuse a token from now on')
    .argument('<name-or-id>', 'its id, or its name where only one valid token has it')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./token-revoke.ts')).tokenRevoke));
}
