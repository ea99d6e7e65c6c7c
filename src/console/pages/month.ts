/** The month on Home: what waits for a person besides payrolls, the files of today, and the pay dates that come next. */
import { listCensusSyncs } from '../../api/operations/census-syncs.ts';
import { listEmployeeChanges } from '../../api/operations/employee-changes.ts';
import { getFileFormat } from '../../api/operations/file-formats.ts';
import { listPayrollRunLines } from '../../api/operations/payroll-run-lines.ts';
import { listPayrollRuns } from '../../api/operations/payroll-runs.ts';
import { Refusal } from '../../api/problem.ts';
import { dayAt } from '../../database/time-zone.ts';
import { allPages } from '../../formats/cursor.ts';
import { counted, dayOf } from '../elements/format.ts';
import { employerRunsLink } from '../elements/links.ts';
import { type Html, html } from '../html.ts';
import type { Console, ConsoleParts, Visit } from '../page.ts';
import { scheduleOf } from './payroll-table.ts';
import type { Payroll } from './payrolls.ts';

/** No day of a time zone is longer. */
const DAY_MAX_MS = 26 * 3_600_000;
const COUNTED = 100;
const FILES_PATH = '/payrolls/files.tar';

type Database = Pick<ConsoleParts, 'db'>;

export function monthPages({ archive, parts }: Console): void {
  archive(FILES_PATH, listPayrollRunLines, async (visit) => {
    const runs = await finalizedToday(visit, parts);
    if (runs.length === 0) throw new Refusal('NOT_FOUND', 'No payroll was finalized today.');
    const files = [];
    for (const { id: run_id, employer_id } of runs) {
      const of = { params: { employer_id, kind: 'payroll' } };
      const { format } = await visit.api.perform(getFileFormat, of);
      const file_format = format === null ? undefined : 'payroll';
      files.push({
        params: { run_id },
        query: { file_format, download: 'true' },
        filename: `${run_id}${format === null ? '' : '-payroll'}.csv`,
      });
    }
    return { filename: `payrolls-${visit.today}.tar`, files };
  });
}

async function finalizedToday({ api, now, today }: Visit, { db }: Database) {
  const finalized_from = new Date(now.getTime() - DAY_MAX_MS).toISOString();
  const readPage = (cursor?: string) =>
    api.perform(listPayrollRuns, { query: { state: 'finalized', finalized_from, limit: 500, cursor } });
  const runs = [];
  for await (const page of allPages(readPage)) runs.push(...page);
  return runs.filter(({ finalized_at }) => finalized_at !== null && dayAt(db, finalized_at) === today);
}

/** Renders the download of the files of all runs that were finalized today; null if there are none. */
export async function filesOfToday(visit: Visit, parts: Database): Promise<Html | null> {
  const { length } = await finalizedToday(visit, parts);
  if (length === 0) return null;
  const label = length === 1 ? 'Download today’s file (.tar)' : `Download today’s ${length} files (.tar)`;
  return html`<div class="actions"><a class="button quiet" href=${FILES_PATH} download>${label}</a></div>`;
}

/** Lists the rejected changes and held censuses, which belong to no single payroll. */
export async function waiting({ api, may }: Visit): Promise<Html | null> {
  const query = { limit: COUNTED };
  const rejected = may('changes:read')
    ? await api.perform(listEmployeeChanges, { query: { ...query, state: 'rejected' } })
    : null;
  const held = may('census:read')
    ? await api.perform(listCensusSyncs, { query: { ...query, state: 'held' } })
    : null;
  const ready = may('runs:approve') ? 'you can release it' : 'a payroll manager can release it';
  const notices = [
    waits(
      rejected,
      'rejected employment change',
      'rejected employment changes',
      'retry or cancel it',
      '/changes?state=rejected',
    ),
    waits(held, 'held census', 'held censuses', ready, '/census?state=held'),
  ].filter((notice) => notice !== null);
  return notices.length === 0 ? null : html`<ul class="notice">${notices}</ul>`;
}

type Counted = { readonly data: readonly unknown[]; readonly has_more: boolean } | null;

function waits(list: Counted, what: string, plural: string, action: string, path: string): Html | null {
  if (list === null || list.data.length === 0) return null;
  const { data, has_more } = list;
  const label = has_more ? `More than ${COUNTED} ${plural}` : counted(data.length, what, plural);
  return html`<li><a href=${path}>${label}</a>${`: ${action}`}</li>`;
}

/** Lists the pay date after the due one of every payroll, by date, folded. */
export function nextDates(all: readonly Payroll[]): Html | null {
  const next = all.filter(({ next_pay_date }) => next_pay_date !== null);
  if (next.length === 0) return null;
  const byDate = [...Map.groupBy(next, ({ next_pay_date }) => next_pay_date as string)].toSorted();
  const named = (payroll: Payroll) =>
    html`<li>${employerRunsLink(payroll.employer_id)}${`, ${scheduleOf(payroll)}`}</li>`;
  return html`
    <details id="next-dates">
      <summary>Next pay dates</summary>
      <dl class="facts">${byDate.map(([day, payrolls]) => html`<dt>${dayOf(day)}</dt><dd><ul class="problems">${payrolls.map(named)}</ul></dd>`)}</dl>
    </details>
  `;
}
