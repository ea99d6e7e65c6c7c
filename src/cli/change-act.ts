import { type ActedOn, cancelChange, releaseChange, retryChange } from '../employment/manual.ts';
import { unknownChange } from './change-show.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';
import { reasonOf } from './reason.ts';

/** What a person does about one change. A running `serve` goes on with its employee within a second. */

export function changeRetry(
  context: Context,
  changeId: string,
  { force, json }: { force?: true; json?: true },
): Promise<number> {
  return withDatabase(context, async (db) => {
    const now = context.now().toISOString();
    const acted = await retryChange(db, changeId, { force: force === true, now });
    return tell(context, changeId, acted, 'is sent once more:', json);
  });
}

export function changeCancel(
  context: Context,
  changeId: string,
  { reason: given, json }: { reason: string; json?: true },
): Promise<number> {
  const reason = reasonOf(given);
  return withDatabase(context, async (db) => {
    const acted = await cancelChange(db, changeId, { reason, now: context.now().toISOString() });
    return tell(context, changeId, acted, 'is cancelled:', json);
  });
}

export function changeRelease(
  context: Context,
  changeId: string,
  { json }: { json?: true },
): Promise<number> {
  return withDatabase(context, async (db) => {
    const acted = await releaseChange(db, changeId);
    return tell(context, changeId, acted, 'holds nothing back any more:', json);
  });
}

function tell(
  { out }: Context,
  changeId: string,
  acted: ActedOn,
  what: string,
  json: true | undefined,
): number {
  if (acted.outcome === 'not-found') throw unknownChange(changeId);
  if (acted.outcome === 'refused') throw new CommandFailed(acted.why);
  const { change } = acted;
  if (json) out.json(change);
  else out.print(`${printable(changeId)} ${what} ${change.kind} of ${printable(change.employee_id)}`);
  return 0;
}
