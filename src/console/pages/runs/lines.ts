/** The lines of an employee in a run, and the file of all lines. */
import { listDeductions } from '../../../api/operations/deductions.ts';
import { listPayrollRunLines } from '../../../api/operations/payroll-run-lines.ts';
import { getPayrollRun, getPayrollRunOutline } from '../../../api/operations/payroll-runs.ts';
import { problemSummary } from '../../elements/fields.ts';
import { type Html, html } from '../../html.ts';
import type { Console, Visit } from '../../page.ts';
import { attempt } from '../../performing.ts';
import { spanOf } from '../ledger/terms.ts';
import type { Line } from './labels.ts';
import { HEADS, lineOf } from './paycheck-lines.ts';

/** Flags of an employee's last lines, which depend on the end of coverage. */
const LEAVER_FLAGS: Line['flags'] = ['open_after_termination', 'coverage_beyond_last_check'];
/** Lines of one employee: deductions, and adjustments of the year. */
const LINES_OF_EMPLOYEE = 1_000;

export function runLinePages({ csv }: Console): void {
  csv('/runs/:run_id/lines.csv', listPayrollRunLines, async ({ api, params: { run_id }, query }) => {
    const { state: now } = await api.perform(getPayrollRunOutline);
    const { file_format } = query;
    const isFinal = now === 'finalized';
    // A file of another state must not pass for the final one.
    const state = isFinal ? '' : `-${now}`;
    const filename = `${run_id}${file_format === undefined ? '' : '-payroll'}${state}.csv`;
    return { query: { file_format, download: isFinal ? 'true' : undefined }, filename };
  });
}

/** Renders all lines of the employee in the address. */
export async function linesOfEmployee(visit: Visit): Promise<Html> {
  const { api, params, query, may } = visit;
  const { run_id: runId = '' } = params;
  const { employee_id } = query;
  const run = await api.perform(getPayrollRunOutline);
  const list = { employee_id, limit: LINES_OF_EMPLOYEE };
  const { data, problem } = await attempt(api.perform(listPayrollRunLines, { query: list }), 422);
  if (problem !== undefined) return problemSummary(problem);
  if (data.data.length === 0) return html`<p class="soft">No lines in this run.</p>`;
  const isOpen = run.state === 'open';
  const before = await linesBefore(api, data.data, list);
  const options = { runId, run, isOpen, may, before, ends: await endsAfterLeaving(visit, data.data) };
  return html`<div>${HEADS}${data.data.map((line) => lineOf(line, options))}</div>`;
}

/** Returns the lines of the employee in the previous run, if an amount changed since. */
async function linesBefore(
  api: Visit['api'],
  lines: readonly Line[],
  list: { employee_id: string | undefined; limit: number },
): Promise<Line[]> {
  if (lines.every(({ amount_change }) => amount_change !== 'changed')) return [];
  const { comparison } = await api.perform(getPayrollRun);
  if (comparison === null) return [];
  const run_id = comparison.previous_run_id;
  return (await api.perform(listPayrollRunLines, { params: { run_id }, query: list })).data;
}

/** Returns until when deductions cover an employee who left, by id; empty for a user who may not see it. */
async function endsAfterLeaving({ api, query, may }: Visit, lines: readonly Line[]) {
  const { employee_id } = query;
  const isOfLeaver = lines.some(({ flags }) => flags.some((flag) => LEAVER_FLAGS.includes(flag)));
  if (employee_id === undefined || !isOfLeaver || !may('ledger:read')) return new Map();
  const { data } = await api.perform(listDeductions, { query: { employee_id, limit: LINES_OF_EMPLOYEE } });
  return new Map(data.map((deduction) => [deduction.id, spanOf(deduction).until]));
}
