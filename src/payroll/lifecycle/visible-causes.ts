/** Hides which records of other employers explain an amount, for callers limited to employers. */
import type { Db } from '../../database/tables.ts';
import { rosterOf } from '../../ledger/roster.ts';
import { OF_ANOTHER_EMPLOYER, type Viewer, visibleEvents } from '../../ledger/visibility.ts';
import type { Because } from '../calculation/line.ts';

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
  const reports = [...(await rosterOf(db, [...new Set(employees)])).values()].flat();
  const ofEmployers = reports.filter(({ employer_id }) => viewer.employers.includes(employer_id));
  const visible = {
    roster: new Set(ofEmployers.map(({ source_id }) => source_id)),
    event: await visibleEvents(db, idsOf('event'), viewer),
  };
  return explained.map((each) => {
    const { because } = each;
    if (because?.kind !== 'event' && because?.kind !== 'roster') return each;
    return visible[because.kind].has(because.id)
      ? each
      : { ...each, because: { ...because, id: OF_ANOTHER_EMPLOYER } };
  });
}
