/** "At once" as a table, and what of it the project asks of itself. */
import { CONNECTIONS, type Measured, type Rounds } from './at-once.ts';
import { median, type Report, whole } from './report.ts';
import type { Side } from './sides.ts';

/** What issue 3 asks: by how much the sidecar is faster than the best peer, and how near it comes to the ceiling. */
const ASKED = { sqliteToPeer: 2, sqliteToCeiling: 0.5, postgresToPeer: 1.2 };

export function reportAtOnce(report: Report, measured: Rounds, rounds: number): void {
  const sides = [...measured.keys()];
  const all = (side: Side, field: keyof Measured) => (measured.get(side) ?? []).map((one) => one[field]);
  const middle = (side: Side, field: keyof Measured) => median(all(side, field));
  const find = (name: string) => sides.find((side) => side.name === name);
  const ratios = (one: Side | undefined, other: Side | undefined): number[] => {
    if (one === undefined || other === undefined) return [];
    const others = all(other, 'appliedPerSecond');
    return all(one, 'appliedPerSecond').map((rate, round) => rate / (others[round] as number));
  };
  const ceiling = find('ceiling');

  report.line(`## At once: ${CONNECTIONS} connections, load generator on the same machine`);
  report.line();
  report.line(`Medians; rounds: ${rounds}. Applied is counted until the last event is applied.`);
  report.line();
  report.table(
    [
      'side',
      'events',
      'acknowledged/s',
      'applied/s',
      'p50 ms',
      'p99 ms',
      'to drain ms',
      'most waiting',
      'peak MiB',
      'of the ceiling',
    ],
    sides.map((side) => [
      side.title,
      whole(side.events),
      whole(middle(side, 'acknowledgedPerSecond')),
      side === ceiling ? '' : `**${whole(middle(side, 'appliedPerSecond'))}**`,
      middle(side, 'p50').toFixed(1),
      middle(side, 'p99').toFixed(1),
      whole(middle(side, 'drainMs')),
      whole(middle(side, 'mostWaiting')),
      whole(middle(side, 'peakMiB')),
      ceiling === undefined ? '' : median(ratios(side, ceiling)).toFixed(2),
    ]),
  );

  const bestOf = (kind: Side['peer']): Side | undefined =>
    sides
      .filter(({ peer }) => peer === kind)
      .sort((one, other) => middle(other, 'appliedPerSecond') - middle(one, 'appliedPerSecond'))[0];
  const compare = (what: string, times: readonly number[], remarks = ''): void => {
    if (times.length === 0) return;
    const [least, most] = [Math.min(...times), Math.max(...times)].map((one) => one.toFixed(2));
    report.line(`- ${what}: **${median(times).toFixed(2)}** times, ${least} to ${most}${remarks}`);
  };
  const [best, gathering] = [bestOf('as documented'), bestOf('gathering')];
  report.line("Ratios are medians of the rounds' own, with the least and the greatest of them.");
  if (best !== undefined) report.line(`The best peer as its documentation has it is: ${best.title}.`);
  if (gathering !== undefined)
    report.line(`The best that gathers as the sidecar does is: ${gathering.title}.`);
  report.line();
  compare('SQLite to the best peer', ratios(find('sqlite'), best), ` (asked: ${ASKED.sqliteToPeer})`);
  compare('SQLite to the best that gathers', ratios(find('sqlite'), gathering));
  compare('SQLite to the ceiling', ratios(find('sqlite'), ceiling), ` (asked: ${ASKED.sqliteToCeiling})`);
  compare('PostgreSQL to the best peer', ratios(find('postgres'), best), ` (asked: ${ASKED.postgresToPeer})`);
  compare('PostgreSQL to the best that gathers', ratios(find('postgres'), gathering));
  compare(
    'PostgreSQL, two processes to one',
    ratios(find('postgres-2'), find('postgres')),
    ', on cores that they share with PostgreSQL and the load',
  );
  report.line();
  report.line('Round by round, applied/s (of the ceiling: answered/s):');
  report.line();
  report.table(
    ['side', ...Array.from({ length: rounds }, (_, round) => `round ${round + 1}`)],
    sides.map((side) => [side.title, ...all(side, 'appliedPerSecond').map(whole)]),
  );
}
