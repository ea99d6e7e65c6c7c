/** A new payroll run: previewed, then saved. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { RUN_BYTES_MAX } from '../../../api/routes/payroll-runs.ts';
import { found, rejectedByApi } from '../../api-client.ts';
import { fitsPath, runPath } from '../../elements/links.ts';
import { html } from '../../html.ts';
import { type Act, action, type ConsoleParts, page, type Visit } from '../../page.ts';
import { isFor, schedulesOf } from '../settings/overview.ts';
import { bodyOf, DEFAULTS, runForm, type Typed, typedLike } from './form.ts';
import { previewOf } from './totals.ts';

export function newRunPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/runs/new', scope: 'runs:read' }, async (visit) => {
    const { query, may } = visit;
    const copied = query.like === undefined ? null : await copyOf(visit, query.like);
    const typed = copied ?? { ...DEFAULTS, ...(query.employer_id && { employer_id: query.employer_id }) };
    const note =
      copied === null
        ? `There is no run ${query.like} to copy.`
        : copied.pay_date === undefined
          ? `Options copied from ${query.like}. Enter the dates.`
          : `Options copied from ${query.like}, with the next pay date of the schedule.`;
    return {
      title: 'New payroll run',
      place: 'runs',
      body: html`
        <div>
          ${query.like !== undefined && html`<p class="hint">${note}</p>`}
          ${runForm({ typed, maySave: may('runs:write') })}
        </div>
      `,
    };
  });

  action(app, parts, { url: '/runs/new', scope: 'runs:read', bodyLimit: RUN_BYTES_MAX }, async (act) => {
    const { do: command, ...typed } = act.form;
    return command === 'save' ? save(act, typed) : preview(act, typed);
  });
}

async function preview({ api, may }: Act, typed: Typed) {
  const { data, error } = await api.POST('/v1/payroll-runs/preview', { body: bodyOf(typed) });
  const form = { typed, maySave: may('runs:write') };
  if (data === undefined) return runForm({ ...form, problem: formProblem(error) });
  return runForm({ ...form, below: previewOf(data) });
}

async function save({ api, may }: Act, typed: Typed) {
  const run_id = (typed.run_id ?? '').trim();
  const body = bodyOf(typed);
  const { error } =
    run_id === '' || !fitsPath(run_id)
      ? withIdProblem((await api.POST('/v1/payroll-runs/preview', { body })).error, run_id)
      : await api.PUT('/v1/payroll-runs/{run_id}', { params: { path: { run_id } }, body });
  if (error === undefined) return { go: runPath(run_id) };
  return runForm({ typed, maySave: may('runs:write'), problem: formProblem(error) });
}

/** Reports the problem of the id together with all others. */
function withIdProblem(error: unknown, runId: string): { error: ProblemDetails } {
  const problem = (error ?? { title: 'The run cannot be saved', status: 422 }) as ProblemDetails;
  const rule = runId === '' ? 'is required' : 'must not be . or ..';
  return { error: { ...problem, errors: [{ path: 'run_id', rule }, ...(problem.errors ?? [])] } };
}

/** A conflict means that the id is taken. Other problems without fields get a page of their own. */
function formProblem(error: unknown): ProblemDetails {
  const problem = error as ProblemDetails;
  if (problem.status === 409) {
    return { ...problem, errors: [{ path: 'run_id', rule: problem.detail ?? problem.title }] };
  }
  if (problem.errors === undefined) throw rejectedByApi(problem);
  return problem;
}

/** Fills the form from a run, with the next pay date of the employer's schedule; null when there is no such run. */
async function copyOf({ api }: Visit, runId: string): Promise<Typed | null> {
  const run = found(
    await api.GET('/v1/payroll-runs/{run_id}/outline', { params: { path: { run_id: runId } } }),
  );
  if (run === null) return null;
  const schedule = (await schedulesOf(api, run.employer_id)).find((one) => isFor(one, run));
  return typedLike(run, schedule?.pay_dates.find(({ pay_date }) => pay_date > run.pay_date) ?? null);
}
