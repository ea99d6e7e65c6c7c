/** The commands that verify a database, accept a data loss and apply the retention. */
import { readDatabaseUrl, readDataKeys, readRetention } from '../../config.ts';
import { createDifferences, type Differences } from '../../database/difference.ts';
import { sharedClock } from '../../database/engine.ts';
import { transact } from '../../database/transaction.ts';
import { acceptLosses, describeLoss, knownLosses, undetectedLoss } from '../../inbox/data-loss.ts';
import { readClockState } from '../../operations/clock-check.ts';
import { countDue, type DueByKind, dropDue } from '../../operations/retention.ts';
import { rowsToVerify, type VerifyReport, verifyAll } from '../../operations/verify.ts';
import { createEncryptor } from '../../security/encryption.ts';
import { actingIn, type Command, confirm } from '../command.ts';
import { failed, ifStopped } from '../failure.ts';
import {
  counted,
  type Output,
  printable,
  printFirst,
  printPairs,
  printResult,
  printTable,
  withProgress,
} from '../output.ts';

export function addVerifyCommand(program: Command): void {
  program
    .subcommand('verify', 'Recompute the ledger from its events and compare every row.')
    .records('none')
    .examples('verify', 'verify --json')
    .json()
    .doesOnDatabase(async ({ db, out, env, now, stopped }) => {
      // Also runs the engine's own checks. Only reads, also while `serve` runs. Returns 1 if anything differs or is lost.
      const began = performance.now();
      // Encrypted values need the keys; everything else is verified without them.
      const encryptor = env.DATA_KEYS || env.DATA_KEYS_FILE ? createEncryptor(readDataKeys(env)) : null;
      const differences = createDifferences(NAMED);
      const signal = stopped();
      const found = await withProgress(out, 'rows', await rowsToVerify(db, encryptor), ({ add }) =>
        verifyAll(db, encryptor, { report: differences.report, looked: add, signal }),
      ).catch(ifStopped(signal, 'stopped before the end: the result is incomplete, and nothing changed'));
      const result = { found, differences, losses: (await knownLosses(db, now())).map(describeLoss) };
      const ms = Math.round(performance.now() - began);
      printResult(out, report(result, ms), () => printFound(out, result, ms));
      return isClean(result) ? 0 : 1;
    });
}

export function addAcceptLossCommand(program: Command): void {
  program
    .subcommand('accept-loss', 'Accept a loss of data after its events were replayed or cannot be.')
    .records('loss.accept')
    .examples('accept-loss --reason "replayed from the portal on July 3"')
    .reason('Why; stored with the loss')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, { reason }: { reason: string }) => {
      const { db, out, now } = context;
      if ((await undetectedLoss(db, now())) !== null) {
        throw failed('the loss is not recorded yet: start "benefits-sidecar serve", then accept it');
      }
      const effects = (await knownLosses(db, now())).map(describeLoss);
      if (effects.length > 0) await confirm(context, effects, 'Accept it? Readiness stops reporting it.');
      const accepted = await transact(db, (trx) => acceptLosses(trx, reason, actingIn(context)));
      if (accepted === 0) throw failed('there is no loss to accept');
      printResult(out, { accepted }, `Accepted ${counted(accepted, 'loss', 'losses')}`);
    });
}

export function addRetentionCommand(program: Command): void {
  program
    .subcommand('retention', 'Delete data older than RETENTION_EVENTS and RETENTION_REQUESTS now.')
    .records('retention.apply')
    .examples('retention --dry-run', 'retention --yes')
    .option('--dry-run', 'Count what would be deleted, and delete nothing')
    .confirmed()
    .table()
    .doesOnDatabase(async (context, { dryRun }: { dryRun?: true }) => {
      // Does what a running `serve` does once an hour. It may be stopped and repeated at any time.
      const { db, env, out, now, stopped } = context;
      const sharedNow = sharedClock(now);
      const parts = {
        db,
        sharedNow,
        clockWarning: () => readClockState(db, { now, sharedNow }),
        retention: readRetention(env),
        databaseUrl: readDatabaseUrl(env),
        actor: context.actor,
      };
      const dueNow = await countDue(parts);
      const { due } = dueNow;
      if (dryRun) {
        printResult(out, { dry_run: true, due }, () => printDue(out, due));
        return 0;
      }
      const bodies = (due.events?.count ?? 0) + (due.conflicts?.count ?? 0);
      const requests = due.requests?.count ?? 0;
      const total = bodies + requests + due.pilot.count + due.names.count;
      if (total > 0) {
        const further = furtherOf(due.pilot.count, due.names.count);
        const effect = `Due: ${bodies} event bodies and the attempts of ${requests} requests${further}.`;
        await confirm(context, [effect], 'Delete it? This cannot be undone.');
      }
      const signal = stopped();
      const dropped = await withProgress(out, 'deleted', total, ({ set }) =>
        dropDue(parts, dueNow, signal, ({ events, conflicts, requests, pilot, names }) =>
          set(events + conflicts + requests + pilot + names),
        ),
      );
      printResult(out, { dry_run: false, dropped }, () => {
        const deleted = dropped.events + dropped.conflicts;
        const { requests, pilot, names } = dropped;
        const further = furtherOf(pilot, names);
        out.print(`Deleted ${deleted} event bodies and the attempts of ${requests} requests${further}`);
        noteWhatIsKept(out, due);
      });
      if (signal.aborted) out.note('Stopped: finished work is kept. Run the command again to continue.');
      return signal.aborted ? 1 : 0;
    });
}

/** Returns '' for none: most databases never had a pilot, and names are due years later. */
function furtherOf(pilot: number, names: number): string {
  const ofPilot = pilot === 0 ? '' : `, and the bodies of ${counted(pilot, 'change')} of a pilot`;
  return names === 0 ? ofPilot : `${ofPilot}, and ${counted(names, 'name')} of former employees`;
}

/** Differences that are printed. All are counted. */
const NAMED = 100;

type Verified = { found: VerifyReport; differences: Differences; losses: string[] };

function isIntact({ found, differences }: Verified): boolean {
  return differences.total === 0 && found.engine.every(({ result }) => result !== 'fail');
}

function isClean(result: Verified): boolean {
  return isIntact(result) && result.losses.length === 0;
}

function report(result: Verified, ms: number) {
  const { found, differences, losses } = result;
  const { versions, runs, encrypted, ...rest } = found;
  return {
    clean: isClean(result),
    ...rest,
    versions: { by_body: versions.byBody, by_hash: versions.byHash },
    runs: { verified: runs.runs - runs.otherRules, lines: runs.lines, by_other_rules: runs.otherRules },
    encrypted: encrypted && {
      decrypted: encrypted.decrypted,
      key_missing: Object.fromEntries(encrypted.undecrypted),
    },
    differences: {
      count: differences.total,
      by_field: Object.fromEntries(differences.counts),
      named: differences.named,
    },
    data_losses: losses,
    ms,
  };
}

function printFound(out: Output, result: Verified, ms: number): void {
  const { found, differences, losses } = result;
  const { versions, runs, encrypted } = found;
  printPairs(out, {
    ...Object.fromEntries(found.engine.map(({ name, result, detail }) => [name, `${result}: ${detail}`])),
    position: found.position,
    'versions recomputed from events': versions.byBody,
    'versions compared by hash only': versions.byHash,
    'events without a version': found.events_without_version,
    deductions: found.deductions,
    'roster facts': found.roster_facts,
    requests: found.requests,
    'runs recomputed': `${runs.runs - runs.otherRules}, ${counted(runs.lines, 'line')}`,
    'encrypted values': encrypted?.decrypted ?? 'not checked: DATA_KEYS is not set',
  });
  if (runs.otherRules > 0)
    out.note(
      `${counted(runs.otherRules, 'run')} not recomputed: another release finalized them by different rules.`,
    );
  for (const [keyId, count] of encrypted?.undecrypted ?? []) {
    out.note(`${counted(count, 'encrypted value')} not checked: DATA_KEYS lacks key ${printable(keyId)}.`);
  }
  const lines = differences.named.map(({ table, id, field, rule }) => `${table} ${id}: ${field}: ${rule}`);
  printFirst(out, lines, differences.total);
  const failure = `Failed: ${counted(differences.total, 'difference')}. Restore a backup, or report a bug.`;
  if (!isIntact(result)) out.print(out.color('red', failure));
  for (const loss of losses) out.print(out.color('red', `Data loss: ${loss}`));
  if (isClean(result)) out.print(out.color('green', `No differences, in ${(ms / 1_000).toFixed(1)} s`));
}

function printDue(out: Output, due: DueByKind): void {
  const { events, conflicts, requests, pilot, names } = due;
  const mib = (kind: typeof events) => kind && `${(kind.bytes / (1024 * 1024)).toFixed(1)} MiB`;
  printTable(
    out,
    [
      ['data', ({ name }) => name],
      ['due', ({ due }) => due?.count],
      ['oldest', ({ due }) => due?.oldest],
      ['size', ({ size }) => size],
    ],
    [
      { name: 'event bodies', due: events, size: mib(events) },
      { name: 'bodies of dismissed conflicts', due: conflicts, size: mib(conflicts) },
      { name: 'request attempts', due: requests, size: requests && counted(requests.attempts, 'attempt') },
      { name: 'bodies of changes of a pilot', due: pilot, size: null },
      { name: 'names of former employees', due: names, size: null },
    ],
  );
  noteWhatIsKept(out, due);
}

function noteWhatIsKept(out: Output, { events, requests }: DueByKind): void {
  if (events === null) out.note('RETENTION_EVENTS is not set: event bodies are kept indefinitely.');
  if (requests === null) out.note('RETENTION_REQUESTS is not set: request attempts are kept indefinitely.');
}
