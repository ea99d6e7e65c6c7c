/** The commands that keep a database safe and small, and prove it. */
import type { Command } from 'commander';
import { jsonOption } from './arguments.ts';
import type { Lazily } from './context.ts';

export function addOperationCommands(tree: Command, lazily: Lazily): void {
  tree
    .command('backup')
    .description('copy the database, as it is now, to one file, beside a running serve')
    .argument('<file>', 'the file to make; it appears when it is whole')
    .option('--force', 'replace the file')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./backup.ts')).backup));
  tree
    .command('restore')
    .description('put a backup in the place of the database, while nothing serves it')
    .argument('<file>', 'what "benefits-sidecar backup" made')
    .option('--force', 'also where there is a database already; it is kept beside the new one')
    .option('--without-keys', 'also when DATA_KEYS lacks a key: what is sealed with it stays unreadable')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./restore.ts')).restore));
  tree
    .command('verify')
    .description('compute the ledger again from the events and compare every row, beside a running serve')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./verify.ts')).verify));
  tree
    .command('accept-loss')
    .description('say that what the database had lost was replayed, or is given up')
    .requiredOption('--reason <text>', 'why; kept with the loss (required)')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./accept-loss.ts')).acceptLoss));
  tree
    .command('retention')
    .description(
      'drop what is older than RETENTION_EVENTS and RETENTION_REQUESTS now, beside a running serve',
    )
    .option('--dry-run', 'only count what would be dropped')
    .addOption(jsonOption())
    .action(lazily(async () => (await import('./retention.ts')).retention));
}
