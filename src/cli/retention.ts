import { readDatabaseUrl, readRetention } from '../config.ts';
import { countDue, type DueByKind, dropDue } from '../operations/retention.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { showProgress } from './progress.ts';
import { printTable } from './table.ts';

type Options = { dryRun?: true; json?: true };

/**
 * Drops now what RETENTION_EVENTS and RETENTION_REQUESTS say, as a running `serve` does once an hour; with --dry-run it
 * only counts that. May be stopped and run again at any time.
 */
export function retention(context: Context, { dryRun, json }: Options): Promise<number> {
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
    if (signal.aborted) out.note('stopped: what is done is done, and the next run goes on from there');
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
  if (events === null) out.note('RETENTION_EVENTS is not set: bodies are kept for ever');
  if (requests === null)
    out.note('RETENTION_REQUESTS is not set: attempts and answers of requests are kept for ever');
}
