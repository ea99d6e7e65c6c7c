/** Hides which records of other employers explain an amount, for callers limited to employers. */
import type { Db } from '../../database/tables.ts';
import { seesReport, sightsOf, type Viewer, visibleEvents } from '../../ledger/visibility.ts';
import type { Because } from '../calculation/line.ts';

/** Stands for the id of a record that the caller may not see. */
const HIDDEN = 'another employer';

type Explained = { readonly employee_id: string; readonly because: Because | null };

/** Returns lines or items with the ids of hidden events, censuses and employment changes replaced. `viewer`: null sees all. */
export async function withVisibleCauses<E extends Explained>(
  db: Db,
  viewer: Viewer | null,
  explained: readonly E[],
): Promise<E[]> {
  const idsOf = (kind: Because['kind']) =>
    explained.flatMap(({ because }) => (because?.kind === kind ? because.id : []));
  if (viewer === null) return [...explained];
  const reported = explained.filter(({ because }) => because?.kind === 'roster');
  const employees = reported.map(({ employee_id }) => employee_id);
  const sights = await sightsOf(db, employees, viewer);
  const events = await visibleEvents(db, idsOf('event'), viewer);
  const isVisible = ({ employee_id, because }: Explained): boolean =>
    because?.kind === 'event'
      ? events.has(because.id)
      : because?.kind !== 'roster' || seesReport(sights.get(employee_id), because.id, because.received_at);
  return explained.map((each) =>
    each.because === null || isVisible(each) ? each : { ...each, because: { ...each.because, id: HIDDEN } },
  );
}
