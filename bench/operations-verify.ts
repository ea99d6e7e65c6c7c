/** `verify` on all events without other load. */
import { runCommand } from './command.ts';
import type { Scratch } from './databases.ts';
import { type TargetRow, whole } from './report.ts';

/** The target of the issue, on SQLite. */
const TARGET_PER_SECOND = 50_000;

export async function verifyAll(database: Scratch, events: number): Promise<TargetRow[]> {
  const { answer, peakMiB } = await runCommand<{ ms: number; versions: { by_body: number } }>(database.url, [
    'verify',
  ]);
  if (answer.versions.by_body !== events) throw new Error('not every event was verified');
  const perSecond = (events * 1_000) / answer.ms;
  const what = `verify, events per second (all ${whole(events)} in ${(answer.ms / 1_000).toFixed(1)} s, at most ${whole(peakMiB)} MiB)`;
  const target = database.url.startsWith('sqlite:') ? `>= ${whole(TARGET_PER_SECOND)}` : '';
  return [[what, whole(perSecond), target]];
}
