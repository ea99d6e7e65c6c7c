import type { RunState } from '../database/tables.ts';
import { runCursor, viewRunSummary } from '../payroll/run-view.ts';
import { listRuns } from '../payroll/runs/store.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { notePage } from './page.ts';
import { printTable } from './table.ts';

type Options = { employer?: string; state?: RunState; limit: number; cursor?: string; json?: true };

/** Runs, the latest pay date first. Nothing is computed: an open run tells its totals when it is shown. */
export function runList(context: Context, options: Options): Promise<number> {
  const { out } = context;
  const { employer, state, limit, cursor, json } = options;
  const after = runCursor.decode(cursor);
  return withDatabase(context, async (db) => {
    const { runs, next } = await listRuns(db, { employerId: employer, state }, { after, limit });
    const shown = runs.map(viewRunSummary);
    const next_cursor = runCursor.encode(next);
    if (json) out.json({ data: shown, next_cursor });
    else if (shown.length === 0) out.note('no such runs');
    else {
      printTable(
        out,
        [
          'pay date',
          'run',
          'employer',
          'kind',
          'pay frequency',
          'pay group',
          'state',
          'lines',
          'employees pay',
        ],
        shown.map((run) => [
          run.pay_date,
          run.run_id,
          run.employer_id,
          run.kind,
          run.pay_frequency,
          run.pay_group,
          run.state,
          run.totals?.lines,
          run.totals?.member_amount,
        ]),
      );
      notePage(out, next_cursor);
    }
    return 0;
  });
}
