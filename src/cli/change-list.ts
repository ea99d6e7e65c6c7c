import type { RequestState } from '../database/tables.ts';
import type { ChangeKind } from '../employment/change.ts';
import { changeCursor } from '../employment/change-view.ts';
import { type AcceptedChange, listChanges } from '../employment/changes.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { notePage } from './page.ts';
import { printTable, shortened } from './table.ts';

type Options = {
  state?: RequestState;
  employee?: string;
  kind?: ChangeKind;
  from?: string;
  until?: string;
  limit: number;
  cursor?: string;
  json?: true;
};

/** Employment changes, newest first, without what they say. */
export function changeList(context: Context, options: Options): Promise<number> {
  const { out } = context;
  const { state, employee, kind, from, until, limit, cursor, json } = options;
  const before = changeCursor.decode(cursor);
  return withDatabase(context, async (db) => {
    const filter = { state, employeeId: employee, kind, from, until };
    const { changes, next } = await listChanges(db, filter, { before, limit });
    const next_cursor = changeCursor.encode(next);
    if (json) out.json({ data: changes, next_cursor });
    else if (changes.length === 0) out.note('no such changes');
    else {
      printTable(
        out,
        ['accepted', 'change', 'kind', 'employee', 'state', 'attempts', 'reason'],
        changes.map((change) => [
          change.created_at,
          change.change_id,
          change.kind,
          change.employee_id,
          change.holding ? `${change.state}, holding` : change.state,
          change.attempts,
          change.waits_behind === null ? shortened(change.reason) : `waits behind ${change.waits_behind}`,
        ]),
      );
      notePage(out, next_cursor);
    }
    return 0;
  });
}

/** One change, a line for each thing that is known of it. */
export function pairsOf(change: AcceptedChange): Record<string, string | number | null> {
  const { may_have_been_applied, holding, ...rest } = change;
  return {
    ...rest,
    may_have_been_applied: may_have_been_applied ? 'yes: an answer was lost' : 'no',
    holding: holding ? "yes: the employee's later changes wait" : 'no',
  };
}
