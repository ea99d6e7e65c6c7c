import { viewPreview } from '../payroll/run-view.ts';
import { PREVIEWED_LINES, previewWithLines } from '../payroll/runs/begin.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { printLines } from './run-line.ts';
import { askedRun, type RunOptions } from './run-options.ts';
import { printPreview } from './run-print.ts';

/** Shows what a run would come to, and the lines of the employees that it names. Keeps nothing. */
export async function runPreview(context: Context, options: RunOptions & { json?: true }): Promise<number> {
  const { out } = context;
  const run = await askedRun(options);
  return withDatabase(context, async (db) => {
    const { view, lines } = await previewWithLines(db, run);
    const shown = await viewPreview(db, view, run, lines);
    if (options.json) {
      out.json(shown);
      return 0;
    }
    printPreview(out, shown);
    if (lines === null) out.note('with --employee their lines are shown, and how each came about');
    else {
      out.print('');
      printLines(out, lines);
      if (lines.length === PREVIEWED_LINES) out.note(`only the first ${PREVIEWED_LINES} lines are shown`);
    }
    return 0;
  });
}
