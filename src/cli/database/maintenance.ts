/** The commands that verify a database, accept a data loss and apply the retention. */
import type { Command } from 'commander';
import { readDatabaseUrl, readDataKeys, readRetention } from '../../config.ts';
import { createDifferences, type Differences } from '../../database/difference.ts';
import { transact } from '../../database/transaction.ts';
import type { Environment } from '../../environment.ts';
import { AppError } from '../../errors.ts';
import { acceptLosses, undetectedLoss } from '../../inbox/data-loss.ts';
import { countDue, type DueByKind, dropDue } from '../../operations/retention.ts';
import { type Found, rowsToVerify, verifyAll } from '../../operations/verify.ts';
import { createEncryptor, type Encryptor } from '../../security/encryption.ts';
import { jsonOption, reasonOf } from '../arguments.ts';
import { type Act, type Context, withDatabase } from '../context.ts';
import { ifStopped } from '../failure.ts';
import { adding, type Output, printable, printPairs, printTable, showProgress } from '../output.ts';

export function addVerifyCommand(program: Command, act: Act): void {
  program
    .command('verify')
    .description('recompute the ledger from the events and compare every row, while serve runs')
    .addOption(jsonOption())
    .action(act(verify));
}

export function addAcceptLossCommand(program: Command, act: Act): void {
  program
    .command('accept-loss')
    .description('say that what the database had lost was replayed, or is given up')
    .requiredOption('--reason <text>', 'why; kept with the loss (required)')
    .addOption(jsonOption())
    .action(act(acceptLoss));
}

export function addRetentionCommand(program: Command, act: Act): void {
  program
    .command('retention')
    .description('delete data older than RETENTION_EVENTS and RETENTION_REQUESTS now, while serve runs')
    .option('--dry-run', 'only count what would be dropped')
    .addOption(jsonOption())
    .action(act(retention));
}

/** Differences that are printed. All are counted. */
const NAMED = 100;

/**
 * Recomputes the ledger and everything derived from it, compares every row, and runs the engine's own checks. Only
 * reads, also while `serve` runs. Returns 1 if anything differs.
 */
export function verify(context: Context, { json }: { json?: true }): Promise<number> {
  const { out, env, stopped } = context;
  const encryptor = encryptorOf(env);
  return withDatabase(context, async (db) => {
    const began = performance.now();
    const progress = await showProgress(out, 'rows', await rowsToVerify(db, encryptor));
    const differences = createDifferences(NAMED);
    const signal = stopped();
    const found = await verifyAll(db, encryptor, {
      report: differences.report,
      looked: adding(progress),
      signal,
    })
      .catch(ifStopped(signal, 'stopped before the end: nothing was changed, and nothing is proved'))
      .finally(progress.end);
    const ms = Math.round(performance.now() - began);
    if (json) out.json(report(found, differences, ms));
    else printFound(out, found, differences, ms);
    return isClean(found, differences) ? 0 : 1;
  });
}

/** Encrypted values need the keys; everything else is verified without them. */
function encryptorOf(env: Environment): Encryptor | null {
  const isGiven = [env.DATA_KEYS, env.DATA_KEYS_FILE].some((value) => value !== undefined && value !== '');
  return isGiven ? createEncryptor(readDataKeys(env)) : null;
}

function isClean({ engine }: Found, { total }: Differences): boolean {
  return total === 0 && engine.every(({ result }) => result !== 'fail');
}

function report(found: Found, differences: Differences, ms: number) {
  const { versions, runs, sealed, ...rest } = found;
  return {
    clean: isClean(found, differences),
    ...rest,
    versions: { by_body: versions.byBody, by_hash: versions.byHash },
    runs: { verified: runs.runs - runs.otherRules, lines: runs.lines, by_other_rules: runs.otherRules },
    sealed: sealed && { opened: sealed.opened, key_missing: Object.fromEntries(sealed.unopened) },
    differences: {
      count: differences.total,
      by_field: Object.fromEntries(differences.counts),
      named: differences.named,
    },
    ms,
  };
}

function printFound(out: Output, found: Found, differences: Differences, ms: number): void {
  const { versions, runs, sealed } = found;
  printPairs(out, {
    ...Object.fromEntries(found.engine.map(({ name, result, says }) => [name, `${result}: ${says}`])),
    position: found.position,
    'versions computed from their event': versions.byBody,
    'versions whose event kept its hash only': versions.byHash,
    'events without a version': found.events_without_version,
    deductions: found.deductions,
    'roster facts': found.roster_facts,
    requests: found.requests,
    'runs computed again': `${runs.runs - runs.otherRules}, ${runs.lines} lines`,
    'sealed values opened': sealed?.opened ?? 'none: DATA_KEYS is not set',
  });
  if (runs.otherRules > 0) out.note(`${runs.otherRules} runs were computed by the rules of another release`);
  for (const [keyId, count] of sealed?.unopened ?? []) {
    out.note(`${count} sealed values need key ${printable(keyId)}, which DATA_KEYS does not have`);
  }
  for (const { table, id, field, rule } of differences.named) {
    out.print(printable(`${table} ${id}: ${field}: ${rule}`));
  }
  const left = differences.total - differences.named.length;
  if (left > 0) out.print(`… and ${left} more`);
  out.print(
    isClean(found, differences)
      ? out.color('green', `clean, in ${(ms / 1_000).toFixed(1)} s`)
      : out.color('red', `NOT clean: ${differences.total} differences`),
  );
}

/** Accepts that lost events were replayed or are abandoned, so readiness no longer fails. */
async function acceptLoss(
  context: Context,
  { reason, json }: { reason: string; json?: true },
): Promise<number> {
  const { out, now } = context;
  const why = reasonOf(reason);
  return withDatabase(context, async (db) => {
    if ((await undetectedLoss(db, now())) !== null) {
      throw new AppError(
        'COMMAND_FAILED',
        'the loss is not noted in the database yet: start "serve", which does, then accept it',
      );
    }
    const accepted = await transact(db, (trx) => acceptLosses(trx, why, now().toISOString()));
    if (accepted === 0) throw new AppError('COMMAND_FAILED', 'there is nothing to accept: no loss is open');
    if (json) out.json({ accepted });
    else out.print(`accepted ${accepted === 1 ? 'the loss' : `${accepted} losses`}`);
    return 0;
  });
}

type RetentionOptions = { dryRun?: true; json?: true };

/**
 * Applies RETENTION_EVENTS and RETENTION_REQUESTS now, as a running `serve` does once an hour. With --dry-run it
 * only counts. It may be stopped and repeated at any time.
 */
export function retention(context: Context, { dryRun, json }: RetentionOptions): Promise<number> {
  const { env, out, now, stopped } = context;
  const configured = readRetention(env);
  const databaseUrl = readDatabaseUrl(env);
  return withDatabase(context, async (db) => {
    const parts = { db, databaseUrl, retention: configured, now };
    const due = await countDue(parts);
    if (dryRun) {
      if (json) out.json({ dry_run: true, due });
      else printDue(context, due);
      return 0;
    }
    const { events, conflicts, requests } = due;
    const total = (events?.count ?? 0) + (conflicts?.count ?? 0) + (requests?.count ?? 0);
    const progress = await showProgress(out, 'dropped', total);
    const signal = stopped();
    const dropped = await dropDue(parts, signal, (sofar) => {
      progress.set(sofar.events + sofar.conflicts + sofar.requests);
    }).finally(progress.end);
    if (json) out.json({ dry_run: false, dropped });
    else {
      const bodies = dropped.events + dropped.conflicts;
      out.print(`${bodies} bodies dropped; attempts and answers of ${dropped.requests} requests dropped`);
      noteWhatIsKept(context, due);
    }
    if (signal.aborted) out.note('stopped: finished work is kept, and the next run continues from there');
    return signal.aborted ? 1 : 0;
  });
}

function printDue(context: Context, due: DueByKind): void {
  const { events, conflicts, requests } = due;
  printTable(
    context.out,
    ['what', 'due', 'oldest', 'holds'],
    [
      ['bodies of events', events?.count, events?.oldest, mib(events?.bytes)],
      ['bodies of settled conflicts', conflicts?.count, conflicts?.oldest, mib(conflicts?.bytes)],
      [
        'attempts and answers of requests',
        requests?.count,
        requests?.oldest,
        requests && `${requests.attempts} attempts`,
      ],
    ],
  );
  noteWhatIsKept(context, due);
}

function mib(bytes: number | undefined): string | undefined {
  return bytes === undefined ? undefined : `${(bytes / (1024 * 1024)).toFixed(1)} MiB`;
}

function noteWhatIsKept({ out }: Context, { events, requests }: DueByKind): void {
  if (events === null) out.note('RETENTION_EVENTS is not set: bodies are kept indefinitely');
  if (requests === null)
    out.note('RETENTION_REQUESTS is not set: attempts and responses are kept indefinitely');
}
