/** What a person agrees to before a run is finalized: what is going to stand, beside what was reviewed before. */
import type { ProblemDetails } from '../../../api/problem.ts';
import type { Schemas } from '../../../client.ts';
import { hiddenFields, linesField } from '../../elements/field.ts';
import { plain } from '../../elements/plain.ts';
import type { Place } from '../../elements/problem-summary.ts';
import { table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { runPath } from './run-path.ts';
import { periodOf } from './words.ts';

type Run = Schemas['PayrollRun'];

/** What a person reviewed, as texts to compare what is there now with. */
const REVIEWED = {
  lines: 'Lines',
  employees: 'Employees',
  member_amount: 'Employees pay',
  employer_amount: 'Employer pays',
} as const;
export type Reviewed = Readonly<Partial<Record<keyof typeof REVIEWED | 'etag', string>>>;

export function placeOf(path: string): Place | null {
  return path === 'reason' ? { id: 'reason', label: 'Reason' } : null;
}

/** Reports that the run is not the one that was reviewed. `refused`: finalizing was tried. */
export function changed(runId: string, refused: boolean): Html {
  return html`
    <div class="problem" role="alert" tabindex="-1" autofocus>
      <strong>${refused ? 'The run changed since it was reviewed. Nothing was finalized.' : 'The run changed since you opened it.'}</strong>
      <p>${'An event arrived, or other data that the run is computed from changed. '}<a href=${`${runPath(runId)}#lines`}>Review the current lines</a>${', then finalize.'}</p>
    </div>
  `;
}

/** What is going to stand; beside what was reviewed before, where that has changed. */
export function standing(run: Run, before: Reviewed): Html {
  const isCompared = before.member_amount !== undefined;
  const now = reviewedOf(run);
  const rows = (Object.keys(REVIEWED) as (keyof typeof REVIEWED)[]).map((name) => ({
    name,
    before: before[name] ?? '–',
    now: now[name],
  }));
  return html`
    <section class="narrow" aria-labelledby="standing">
      <h2 id="standing">What is going to stand</h2>
      <p>${`${run.run_id} of ${run.employer_id}, paid on ${run.pay_date} for ${periodOf(run)}`}</p>
      ${table({
        caption: 'Totals',
        captionHidden: true,
        columns: [
          { title: 'Of', kind: 'name', cell: ({ name }) => REVIEWED[name] },
          ...(isCompared
            ? [
                {
                  title: 'You reviewed',
                  kind: 'number' as const,
                  cell: (row: (typeof rows)[number]) => row.before,
                },
              ]
            : []),
          { title: isCompared ? 'Now' : 'Total', kind: 'number', cell: (row) => row.now },
        ],
        rows,
      })}
      ${table({
        caption: 'By line of coverage',
        stacked: true,
        columns: [
          {
            title: 'Line of coverage',
            kind: 'name',
            cell: (row: Run['totals']['by_line_of_coverage'][number]) => plain(row.line_of_coverage),
          },
          { title: 'Lines', kind: 'number', cell: ({ lines }) => lines },
          { title: 'Employees pay', kind: 'number', cell: ({ member_amount }) => member_amount },
          { title: 'Employer pays', kind: 'number', cell: ({ employer_amount }) => employer_amount },
        ],
        rows: run.totals.by_line_of_coverage,
      })}
    </section>
  `;
}

export function reviewedOf({
  totals,
  employees,
  etag,
}: Pick<Run, 'totals' | 'employees' | 'etag'>): Required<Reviewed> {
  const { lines, member_amount, employer_amount } = totals;
  return { etag, lines: String(lines), employees: String(employees), member_amount, employer_amount };
}

export function confirmation(
  run: Run,
  { ready: isReady, checks, etag }: Schemas['Readiness'],
  reason: string,
  problem?: ProblemDetails,
): Html {
  const path = runPath(run.run_id);
  const failed = checks.filter(({ result }) => result === 'fail').map(({ id }) => id);
  return html`
    <form class="card" novalidate hx-post=${`${path}/finalize`} hx-target="#review" hx-swap="outerHTML" hx-config="timeout:600s">
      ${hiddenFields({ ...reviewedOf(run), etag, ...(!isReady && { accept: failed.join(' ') }) })}
      <p>${'A finalized run cannot be changed, only voided. Payroll deducts its amounts.'}</p>
      ${
        !isReady &&
        linesField({
          name: 'reason',
          label: `Reason to accept: ${failed.join(', ')}`,
          hint: 'Kept with the run and with each finding. The findings stay accepted until the data they rest on changes. At most 500 characters.',
          value: reason,
          required: true,
          problems: problem?.errors?.filter(({ path }) => path === 'reason') ?? [],
        })
      }
      <div class="actions">
        <button type="submit" class=${isReady ? undefined : 'danger'}>${isReady ? 'Finalize' : 'Accept findings and finalize'}</button>
        <a class="button quiet" href=${path}>Back to the run</a>
        <span class="busy soft" role="status">Freezing the run …</span>
      </div>
    </form>
  `;
}
