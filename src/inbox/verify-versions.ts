/** Computes each version again from its event, as the apply loop does. */
import { type Deduction, deduction } from '../contract/deduction.ts';
import { toInstant } from '../contract/instant.ts';
import { isTime, pagesOf, type ReportDifference, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import {
  foldVersions,
  type IncomingDeduction,
  type LatestState,
  tieKey,
  type Version,
} from '../ledger/fold.ts';
import { type AtTime, versionsAt } from '../ledger/history.ts';
import { versionsWithPrevious } from '../ledger/record.ts';
import { latestOf } from '../ledger/state.ts';
import { type ParsedEvent, parseEvent } from './parse-event.ts';
import { type EventRow, verifyEvent } from './verify-inbox.ts';

/** Versions read at once with their events: a few milliseconds, and cheap to garbage-collect. */
const ROWS_AT_ONCE = 500;

/** How many versions were computed from a stored body, and for how many only the body's hash is left. */
export type VersionsVerified = { byBody: number; byHash: number };

/** Verifies all versions up to a position. They never change, so pages need no common transaction. */
export async function verifyVersions(db: Db, until: number, on: Verifying): Promise<VersionsVerified> {
  const verified = { byBody: 0, byHash: 0 };
  const shown: ShownStates = new Map();
  const page = (after: number) => pageOf(db, after, until);
  for await (const rows of pagesOf(on, 0, ROWS_AT_ONCE, page, (row) => row.position)) {
    const states = new Map(rows.map((row) => [row.position, latestBefore(row, shown)]));
    const computable = rows.flatMap((row) => prepare(row, on.report) ?? []);
    const rivals = Map.groupBy(await rivalsOf(db, computable), (version) => version.deduction_id);
    for (const computed of computable) {
      const { position, deduction_id } = computed.row;
      compare(computed, states.get(position) ?? null, rivals.get(deduction_id) ?? [], on.report);
    }
    for (const { seq, body } of rows) if (seq !== null) verified[body === null ? 'byHash' : 'byBody'] += 1;
  }
  return verified;
}

type VersionRow = Awaited<ReturnType<typeof pageOf>>[number];

/** Returns versions with their events, and the version that each names as the previous one. */
function pageOf(db: Db, after: number, until: number) {
  return versionsWithPrevious(db)
    .leftJoin('inbox', 'inbox.event_id', 'deduction_versions.event_id')
    .selectAll('inbox')
    .where('deduction_versions.position', '>', after)
    .where('deduction_versions.position', '<=', until)
    .orderBy('deduction_versions.position')
    .limit(ROWS_AT_ONCE)
    .execute();
}

type Computable = { row: VersionRow; incoming: IncomingDeduction };

/** Reads the event of a version. Returns null, after reporting why, if the version can't be computed from it. */
function prepare(row: VersionRow, report: ReportDifference): Computable | null {
  const wrong = (field: string, rule: string): null => {
    report('deduction_versions', row.position, field, rule);
    return null;
  };
  if (row.seq === null) return wrong('event_id', 'there is no such event');
  const event = row as VersionRow & EventRow;
  const parsed = row.body === null ? null : parseEvent(row.body);
  verifyEvent(event, parsed, report);
  if (row.state !== 'applied' && !(row.state === 'pending' && event.reprocessed > 0)) {
    report('inbox', row.event_id, 'state', 'is not applied, but has a version');
  }
  if (row.state === 'applied' && row.reason !== null) {
    report('inbox', row.event_id, 'reason', 'is given, but the event was applied');
  }
  if (!isTime(row.recorded_at)) wrong('recorded_at', 'is not a time');
  else if (row.state === 'applied' && row.reprocessed === 0 && row.finished_at !== row.recorded_at) {
    wrong('recorded_at', `is not when event ${row.event_id} was applied`);
  }
  if (row.previous_position !== null && row.before_deduction !== row.deduction_id) {
    return wrong('previous_position', 'is not a version of the same deduction');
  }
  const incoming = incomingOf(row, parsed);
  if (incoming === null) {
    report('inbox', row.event_id, 'body', 'is no deduction, but has a version');
    return null;
  }
  // Without the body, the version is its own source: at least it must be a valid deduction.
  if (row.body === null && !couldBeSent(incoming, wrong)) return null;
  // Reported already. Without a time nothing can be computed.
  if (!isTime(event.received_at)) return null;
  return { row, incoming };
}

function couldBeSent(
  { deduction: stored, createdAt }: IncomingDeduction,
  wrong: (field: string, rule: string) => null,
): boolean {
  const problems = deduction.problems(stored);
  for (const { path, rule } of problems) wrong(path, rule);
  if (createdAt === null || toInstant(createdAt) !== null) return problems.length === 0;
  wrong('created_at', 'is no time');
  return false;
}

/** Returns the content of the event or, without its body, of the version itself. Null if that is no deduction. */
function incomingOf(row: VersionRow, parsed: ParsedEvent | null): IncomingDeduction | null {
  const received = { eventId: row.event_id, receivedAt: row.received_at ?? '' };
  if (parsed === null) {
    // If it was damaged, any field may be wrong, and is reported.
    const stored = { ...row, id: row.deduction_id } as unknown as Deduction;
    return { ...received, createdAt: row.created_at, deduction: stored };
  }
  const { meaning, createdAt } = parsed;
  return meaning.kind === 'deduction' ? { ...received, createdAt, deduction: meaning.deduction } : null;
}

/** Returns the versions that these tie with: the newest at the same event time, up to the previous version. */
function rivalsOf(db: Db, all: readonly Computable[]): Promise<Version[]> {
  const times = all.flatMap(({ row }): AtTime[] => {
    const { deduction_id: deductionId, event_time: eventTime, previous_position } = row;
    // Uses the stored time; if that is wrong, the comparison reports it.
    const isNewest = row.before_late === 0 && row.before_time !== null && eventTime > row.before_time;
    return previous_position === null || isNewest
      ? []
      : [{ deductionId, eventTime, until: previous_position }];
  });
  return versionsAt(db, times);
}

function compare(
  { row, incoming }: Computable,
  latest: LatestState | null,
  rivals: readonly Version[],
  report: ReportDifference,
): void {
  const { previous_position, position, event_time: time } = row;
  const rival = latestOf(
    rivals.filter((rival) => rival.event_time === time && rival.position <= (previous_position ?? 0)),
  );
  const [computed] = foldVersions(
    [incoming],
    latest === null ? new Map() : new Map([[incoming.deduction.id, latest]]),
    rival === null ? new Map() : new Map([[tieKey(incoming.deduction.id, time), rival]]),
    position - 1,
    row.recorded_at,
  ).versions as [Version];
  for (const column of Object.keys(computed) as (keyof Version)[]) {
    if (row[column] === computed[column]) continue;
    const rule = `does not follow from event ${row.event_id} and earlier versions`;
    report('deduction_versions', position, column, rule);
  }
}

/** The latest state of a deduction after a late version, by the position of the late version. */
type ShownStates = Map<number, Pick<LatestState, 'position' | 'event_time' | 'employee_id'>>;

/** Returns the state before this version. Versions come in order, so `shown` has it if the last one was late. */
function latestBefore(row: VersionRow, shown: ShownStates): LatestState | null {
  const { deduction_id, previous_position, position, before_version, before_time, before_employee } = row;
  if (previous_position === null || before_version === null) return null;
  const before =
    row.before_late === 0
      ? {
          position: previous_position,
          event_time: before_time as string,
          employee_id: before_employee as string,
        }
      : shown.get(previous_position);
  shown.delete(previous_position);
  if (before === undefined) return null;
  if (row.late === 1) shown.set(position, before);
  return {
    ...before,
    deduction_id,
    version_count: before_version,
    last_received_position: previous_position,
  };
}
