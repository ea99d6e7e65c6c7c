/** "At once" as a table, and the targets of the project. */
import { CONNECTIONS, type Measured, type Rounds } from './at-once.ts';
import type { Contender } from './contenders.ts';
import { median, type Report, whole } from './report.ts';

/** The targets of issue 3: the ratio to the best peer, and to the ceiling. */
const TARGET = { sqliteToPeer: 2, sqliteToCeiling: 0.5, postgresToPeer: 1.2 };

export function reportAtOnce(report: Report, measured: Rounds, rounds: number): void {
  const contenders = [...measured.keys()];
  const all = (contender: Contender, field: keyof Measured) =>
    (measured.get(contender) ?? []).map((one) => one[field]);
  const middle = (contender: Contender, field: keyof Measured) => median(all(contender, field));
  const find = (name: string) => contenders.find((contender) => contender.name === name);
  const ratios = (one: Contender | undefined, other: Contender | undefined): number[] => {
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
      'system',
      'events',
      'acknowledged/s',
      'applied/s',
      'p50 ms',
      'p99 ms',
      'to drain ms',
      'most waiting',
      'peak MiB',
      'ratio to ceiling',
    ],
    contenders.map((contender) => [
      contender.title,
      whole(contender.events),
      whole(middle(contender, 'acknowledgedPerSecond')),
      contender === ceiling ? '' : `**${whole(middle(contender, 'appliedPerSecond'))}**`,
      middle(contender, 'p50').toFixed(1),
      middle(contender, 'p99').toFixed(1),
      whole(middle(contender, 'drainMs')),
      whole(middle(contender, 'mostWaiting')),
      whole(middle(contender, 'peakMiB')),
      ceiling === undefined ? '' : median(ratios(contender, ceiling)).toFixed(2),
    ]),
  );

  const bestOf = (kind: Contender['peer']): Contender | undefined =>
    contenders
      .filter(({ peer }) => peer === kind)
      .sort((one, other) => middle(other, 'appliedPerSecond') - middle(one, 'appliedPerSecond'))[0];
  const compare = (what: string, times: readonly number[], remarks = ''): void => {
    if (times.length === 0) return;
    const [least, most] = [Math.min(...times), Math.max(...times)].map((one) => one.toFixed(2));
    report.line(`- ${what}: **${median(times).toFixed(2)}** times, ${least} to ${most}${remarks}`);
  };
  const [best, gathering] = [bestOf('as documented'), bestOf('gathering')];
  report.line('Ratios are medians over the rounds, with their minimum and maximum.');
  if (best !== undefined) report.line(`The best documented peer: ${best.title}.`);
  if (gathering !== undefined) report.line(`The best gathering peer: ${gathering.title}.`);
  report.line();
  compare('SQLite to the best peer', ratios(find('sqlite'), best), ` (target: ${TARGET.sqliteToPeer})`);
  compare('SQLite to the best gathering peer', ratios(find('sqlite'), gathering));
  compare('SQLite to the ceiling', ratios(find('sqlite'), ceiling), ` (target: ${TARGET.sqliteToCeiling})`);
  compare(
    'PostgreSQL to the best peer',
    ratios(find('postgres'), best),
    ` (target: ${TARGET.postgresToPeer})`,
  );
  compare('PostgreSQL to the best gathering peer', ratios(find('postgres'), gathering));
  compare(
    'PostgreSQL, two processes to one',
    ratios(find('postgres-2'), find('postgres')),
    ', on cores that they share with PostgreSQL and the load',
  );
  report.line();
  report.line('Round by round, applied/s (of the ceiling: answered/s):');
  report.line();
  report.table(
    ['system', ...Array.from({ length: rounds }, (_, round) => `round ${round + 1}`)],
    contenders.map((contender) => [contender.title, ...all(contender, 'appliedPerSecond').map(whole)]),
  );
}
