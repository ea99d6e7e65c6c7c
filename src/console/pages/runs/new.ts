/** A new run: looked at before it is kept, and kept when it is agreed on. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { RUN_BYTES_MAX } from '../../../api/routes/payroll-runs.ts';
import { canStandInPath } from '../../elements/links.ts';
import { html } from '../../html.ts';
import { ApiRefusal, found } from '../../own-api.ts';
import { type Act, action, page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { isFor, schedulesOf } from '../settings/pay-dates.ts';
import { previewOf } from './figures.ts';
import { runForm } from './form.ts';
import { bodyOf, DEFAULTS, type Typed, typedLike } from './form-body.ts';
import { runPath } from './run-path.ts';
import type { Run } from './words.ts';

export function newRunPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/runs/new', scope: 'runs:read' }, async (visit) => {
    const { query, may } = visit;
    const like = query.like === undefined ? null : await likeOf(visit, query.like);
    const typed = like ?? { ...DEFAULTS, ...(query.employer_id && { employer_id: query.employer_id }) };
    return {
      title: 'New payroll run',
      place: 'runs',
      body: html`
        <div>
          ${
            query.like !== undefined &&
            html`<p class="hint">
              ${like === null ? 'There is no run of the id to copy from.' : `Options are those of ${query.like}. ${like.pay_date === undefined ? 'Say its dates.' : 'The dates are the next ones of the pay schedule.'}`}
            </p>`
          }
          ${runForm({ typed, maySave: may('runs:write') })}
        </div>
      `,
    };
  });

  action(app, parts, { url: '/runs/new', scope: 'runs:read', bodyLimit: RUN_BYTES_MAX }, async (act) => {
    const { do: wish, ...typed } = act.form;
    return wish === 'save' ? save(act, typed) : preview(act, typed);
  });
}

async function preview({ api, may }: Act, typed: Typed) {
  const { data, error } = await api.POST('/v1/payroll-runs/preview', { body: bodyOf(typed) });
  const shown = { typed, maySave: may('runs:write') };
  if (data === undefined) return runForm({ ...shown, problem: refusalOf(error) });
  return runForm({ ...shown, below: previewOf(data) });
}

async function save({ api, may }: Act, typed: Typed) {
  const run_id = (typed.run_id ?? '').trim();
  const body = bodyOf(typed);
  const { error } =
    run_id === '' || !canStandInPath(run_id)
      ? withoutId((await api.POST('/v1/payroll-runs/preview', { body })).error, run_id)
      : await api.PUT('/v1/payroll-runs/{run_id}', { params: { path: { run_id } }, body });
  if (error === undefined) return { go: runPath(run_id) };
  return runForm({ typed, maySave: may('runs:write'), problem: refusalOf(error) });
}

/** All that is wrong is told at once, the id that a run can't be put by before the rest. */
function withoutId(error: unknown, runId: string): { error: ProblemDetails } {
  const problem = (error ?? { title: 'The run can not be kept like this', status: 422 }) as ProblemDetails;
  const rule = runId === '' ? 'is required' : 'must be able to stand in an address: not . or ..';
  return { error: { ...problem, errors: [{ path: 'run_id', rule }, ...(problem.errors ?? [])] } };
}

/** Another run may have the id: that is about the field of the id. What is not about the form is a page of its own. */
function refusalOf(error: unknown): ProblemDetails {
  const problem = error as ProblemDetails;
  if (problem.status === 409) {
    return { ...problem, errors: [{ path: 'run_id', rule: problem.detail ?? problem.title }] };
  }
  if (problem.errors === undefined) throw new ApiRefusal(problem);
  return problem;
}

/** The form of a run like this one, on the next pay date of the employer's schedule; null when there is no such run. */
async function likeOf({ api }: Visit, runId: string): Promise<Typed | null> {
  const run = found(
    await api.GET('/v1/payroll-runs/{run_id}/outline', { params: { path: { run_id: runId } } }),
  );
  return run === null ? null : typedLike(run, await nextDate(api, run));
}

async function nextDate(api: Visit['api'], run: Run) {
  const own = (await schedulesOf(api, run.employer_id)).find((one) => isFor(one, run));
  return own?.pay_dates.find(({ pay_date }) => pay_date > run.pay_date) ?? null;
}
