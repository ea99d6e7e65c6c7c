/** The commands of census syncs. */

import type { ResultOf } from '../api/operation.ts';
import {
  dismissCensusSync,
  getCensusSync,
  releaseCensusSync,
  syncCensus,
} from '../api/operations/census-syncs.ts';
import { describeHold } from '../census/holds.ts';
import { describe } from '../contract/check.ts';
import { type Command, confirm } from './command.ts';
import { addOperation } from './operation-command.ts';
import { type Column, type Output, printable, printTable, printWrapped } from './output.ts';

export type CensusSync = ResultOf<typeof getCensusSync>;

/** For examples. */
const SYNC_ID = '5d1f9c1e-4c07-4b1a-9a35-7f0e2f6c8b21';

/** Employees of a hold that are printed; `--json` has more. */
const EMPLOYEES_LISTED = 20;

const HELP = { sync_id: 'The ID of the sync, which "census show" prints' };

export function addSyncCommands(census: Command): void {
  addOperation(census, 'sync', syncCensus, {
    examples: ['--employer maple-bakery'],
    print(out, { id, employer_id }) {
      out.print(id);
      out.note(`Follow it with "benefits-sidecar census show --employer ${employer_id}".`);
    },
  });
  addOperation(census, 'dismiss', dismissCensusSync, {
    description: 'Mark a sync that is waiting, held, failed or overdue as reviewed.',
    examples: [`${SYNC_ID} --reason "the employer left"`],
    arguments: ['sync_id'],
    help: HELP,
    more: (command) => command.confirmed(),
    async input(context, named) {
      const sync = await context.perform(getCensusSync, { params: named.params });
      const question =
        'Dismiss it? Readiness stops reporting it, and staging a census no longer requests it again.';
      await confirm(context, [summaryOf(sync)], question);
      return named;
    },
    print: (out, { id }) => out.print(`Dismissed ${id}`),
  });
  addOperation(census, 'release', releaseCensusSync, {
    description: 'Upload a held census as it is, for all syncs that are held because of it.',
    examples: [`${SYNC_ID} --reason "the Dayton branch was sold"`],
    arguments: ['sync_id'],
    help: HELP,
    without: ['census_id'],
    more: (command) => command.confirmed(),
    async input(context, named) {
      const sync = await context.perform(getCensusSync, { params: named.params });
      const { held_census_id, held_for } = sync;
      if (held_census_id === null) return named;
      await confirm(context, [summaryOf(sync), ...heldLines(held_for)], releaseQuestion(held_for));
      return { ...named, body: { ...named.body, census_id: held_census_id } };
    },
    print: (out, { employer_id }) => out.print(`Released the census of ${employer_id}`),
  });
}

function summaryOf(sync: CensusSync): string {
  return `${sync.id}: ${sync.employer_id}, ${stateOf(sync)}, requested ${sync.requested_at}.`;
}

export function printResponse(out: Output, response: string | null): void {
  out.print('');
  if (response === null) out.note('The benefits service did not reject the latest upload.');
  else if (response === '') out.note('The benefits service rejected the upload with an empty response.');
  else for (const line of response.split('\n')) out.print(printable(line));
}

function releaseQuestion(holds: CensusSync['held_for']): string {
  const causes = holds.map(({ cause }) => cause);
  const effects = [
    'It is uploaded as it is',
    ...(causes.includes('employees-missing')
      ? ['the service may treat missing employees as terminated']
      : []),
    ...(causes.includes('employees-elsewhere') ? [`these employees count as this employer's too`] : []),
  ];
  return `Release its census? ${effects.join(', and ')}.`;
}

function heldLines(holds: CensusSync['held_for']): string[] {
  return holds.flatMap((hold) => [
    `${describeHold(hold)}:`,
    ...hold.employee_ids.slice(0, EMPLOYEES_LISTED).map((id) => `  ${id}`),
    ...(hold.count > EMPLOYEES_LISTED ? [`  … and ${hold.count - EMPLOYEES_LISTED} more`] : []),
  ]);
}

export const SYNC_COLUMNS: readonly Column<CensusSync>[] = [
  ['sync', (sync) => sync.id],
  ['requested', (sync) => sync.requested_at],
  ['state', stateOf],
  ['uploaded', (sync) => sync.uploaded_at, 1],
  ['completed', (sync) => sync.completed_at, 2],
];

function stateOf({ state, overdue }: CensusSync): string {
  return overdue ? `${state}, overdue` : state;
}

export function printSyncs(out: Output, syncs: readonly CensusSync[]): void {
  const [newest] = syncs;
  if (newest === undefined) {
    out.note('No sync has been requested.');
    return;
  }
  out.print('');
  printTable(out, SYNC_COLUMNS, syncs);
  // What it waited for may have changed since it was dismissed.
  const reasonOf =
    newest.dismissed_at === null ? 'Reason of the newest sync' : 'Reason before it was dismissed';
  if (newest.reason) printWrapped(out, `${reasonOf}: `, printable(newest.reason));
  for (const line of heldLines(newest.held_for)) out.print(printable(line));
  if (newest.dismissed_reason) printWrapped(out, 'Dismissed: ', printable(newest.dismissed_reason));
  // `--json` has all.
  for (const problem of newest.problems.slice(0, 20)) out.print(`  ${printable(describe(problem))}`);
}
