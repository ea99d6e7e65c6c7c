/** The evidence for a final payroll run: what it deducts, what the amounts follow from, and who decided what. */
import type { Db } from '../database/tables.ts';
import type { ArchiveFile } from '../formats/tar.ts';
import { receivedEvents } from '../inbox/events.ts';
import { historyOf } from '../ledger/history.ts';
import type { Viewer } from '../ledger/visibility.ts';
import { acceptedInRun } from '../payroll/lifecycle/acceptances.ts';
import { linesOfRun } from '../payroll/lifecycle/line-pages.ts';
import { shownLines } from '../payroll/lifecycle/line-view.ts';
import { viewRun } from '../payroll/lifecycle/results.ts';
import { viewStoredRun } from '../payroll/lifecycle/run-view.ts';
import { approvalsOf, viewApproval } from '../payroll/records/approvals.ts';
import type { StoredRun } from '../payroll/records/runs.ts';
import { limitedAcceptances } from '../readiness/report.ts';
import { headText, readHead } from '../security/audit-chain.ts';
import { allRecords } from './audit-files.ts';

/**
 * `bodies`: with the bodies of events, else only their SHA-256. `viewer`: a caller limited to employers, whose archive has
 * only the versions that the lines name; null: with every version that the run could know.
 */
type EvidenceSight = { bodies: boolean; viewer: Viewer | null; now: Date };

/** Yields the files of the archive. The run must be final. */
export async function* evidenceOf(
  db: Db,
  stored: StoredRun,
  { bodies, viewer, now }: EvidenceSight,
): AsyncGenerator<ArchiveFile> {
  yield { name: 'README.md', content: README };
  const run = await viewStoredRun(db, await viewRun(db, stored), stored);
  yield { name: 'run.json', content: `${JSON.stringify(run, null, 2)}\n` };
  const { pages } = await linesOfRun(db, stored);
  let number = 0;
  for await (const page of shownLines(db, stored, pages, { unapplied: 'none', viewer })) {
    const lines = page.flatMap((employee) => employee.lines);
    if (lines.length === 0) continue;
    number += 1;
    const name = `${String(number).padStart(5, '0')}.ndjson`;
    yield { name: `lines/${name}`, content: ndjson(lines) };
    const named = new Set(lines.map(versionKey));
    const ids = [...new Set(lines.flatMap(({ deduction_id }) => deduction_id ?? []))];
    const versions = (await historyOf(db, ids)).filter(
      (version) =>
        version.position <= (stored.position ?? 0) && (viewer === null || named.has(versionKey(version))),
    );
    yield { name: `versions/${name}`, content: ndjson(versions) };
    const events = [...new Set(versions.map(({ event_id }) => event_id))];
    yield { name: `events/${name}`, content: ndjson(await receivedEvents(db, events, bodies)) };
  }
  const accepted = await acceptedInRun(db, stored.run_id);
  const findings = viewer === null ? accepted : limitedAcceptances(accepted);
  const rows = findings.map(({ finding, ...acceptance }) => ({ ...finding, ...acceptance }));
  yield { name: 'accepted-findings.ndjson', content: ndjson(rows) };
  const approvals = (await approvalsOf(db, stored.run_id, now.toISOString())).map(viewApproval);
  yield { name: 'approvals.ndjson', content: ndjson(approvals) };
  const filter = { resourceType: 'run', resourceId: stored.run_id };
  const records: object[] = [];
  for await (const page of allRecords(db, filter, 'oldest_first')) records.push(...page);
  yield { name: 'audit-records.ndjson', content: ndjson(records) };
  yield { name: 'audit-head.txt', content: `${headText(await readHead(db))}\n` };
}

function versionKey({ deduction_id, version }: { deduction_id: string; version: number | null }): string {
  return JSON.stringify([deduction_id, version]);
}

function ndjson(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('');
}

const README = `# Evidence for a payroll run

| file | contents |
|---|---|
| run.json | the run: its options, totals, who finalized and voided it, and its head of the audit records |
| lines/ | the amounts with their explanations; each file has the employees of one page |
| versions/ | the versions of the deductions in the same file of lines |
| events/ | the events that recorded these versions: delivery ID, time of receipt, SHA-256 of the body, and the body if it may be shown |
| accepted-findings.ndjson | the readiness findings that were accepted with the run or before it, by whom, and why |
| approvals.ndjson | the approvals of finalizing and voiding |
| audit-records.ndjson | who created, finalized, approved or voided the run |
| audit-head.txt | the head of all audit records when this archive was written |

Files that end in .ndjson have one JSON object per line.

## Compare an event with the provider's log

1. Take the \`id\` of an event. It is the message ID of the webhook.
2. Find this message in the provider's portal, and copy its payload without any change to a file.
3. Run \`sha256sum FILE\`. The result must be the \`sha256\` of the event.

The provider signs webhooks with a key that the receiver has too. A signature therefore proves to the receiver that the provider
sent the event, and proves nothing to a third party: compare with the provider's own log instead.

## Verify the audit records

\`benefits-sidecar audit verify --head HEAD\` compares the head in run.json or in audit-head.txt with the database.
`;
