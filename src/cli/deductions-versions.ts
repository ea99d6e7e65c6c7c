import type { Db } from '../database/tables.ts';
import { viewVersion } from '../ledger/deduction-view.ts';
import { type DeductionState, versionsOf } from '../ledger/deductions.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { CommandFailed } from './failure.ts';
import { printable } from './output.ts';
import { printTable } from './table.ts';

/** Versions read together; most deductions have far fewer. */
const VERSIONS_AT_ONCE = 1_000;

/** Every state that a deduction was ever in, in the order in which they were recorded. */
export function deductionsVersions(
  context: Context,
  deductionId: string,
  { json }: { json?: true },
): Promise<number> {
  const { out, now } = context;
  return withDatabase(context, async (db) => {
    const states = await allVersionsOf(db, deductionId, now().toISOString().slice(0, 10));
    if (states.length === 0) {
      throw new CommandFailed(
        `there is no deduction ${printable(deductionId)}: "benefits-sidecar deductions list" shows those there are`,
      );
    }
    if (json) out.json({ data: states.map(viewVersion), next_cursor: null });
    else {
      printTable(
        out,
        [
          'version',
          'event time',
          'decided by',
          'employee pays',
          'employer pays',
          'from',
          'to',
          'late',
          'event',
        ],
        states.map(({ version }) => [
          version.version,
          version.event_time,
          version.decided_by,
          version.member_contribution,
          version.employer_contribution,
          version.starts_on,
          version.ends_on,
          version.late === 1 ? 'late' : '',
          version.event_id,
        ]),
      );
    }
    return 0;
  });
}

async function allVersionsOf(db: Db, deductionId: string, today: string): Promise<DeductionState[]> {
  const all: DeductionState[] = [];
  let after: number | null | undefined;
  while (after !== null) {
    const { versions, next } = await versionsOf(db, deductionId, { after, limit: VERSIONS_AT_ONCE }, today);
    all.push(...versions);
    after = next;
  }
  return all;
}
