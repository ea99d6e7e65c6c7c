/**
 * `npm run simulate-faults`: replays one seed (`--seed 7`), or runs fresh seeds for some time (`--seconds 60`) or a number of
 * them (`--from 1 --count 200`). Ends with exit code 1 after a breach, and states which faults it needs.
 */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { temporaryFolder } from '../support/memory.ts';
import { SITUATIONS } from './faults.ts';
import { FEATURES } from './features/features.ts';
import { neededFaults } from './shrink.ts';
import { type Options, type Result, simulate } from './simulation.ts';
import { firstDifference } from './trace.ts';

/** Seeds of more days than this find few additional faults and take longer to replay. */
const DAYS = 12;
/** A campaign of fewer seeds may miss a situation by chance. */
const SEEDS_FOR_ALL_SITUATIONS = 100;
const STEPS_SHOWN = 60;
const DAY_SEEDS = 1_000_000_000;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    days: { type: 'string', default: String(DAYS) },
    seconds: { type: 'string' },
    from: { type: 'string' },
    count: { type: 'string', default: '1' },
  },
});
const days = Number(values.days);
const root = temporaryFolder('simulation', '/dev/shm');
process.on('exit', () => rmSync(root, { recursive: true, force: true }));

let runs = 0;
function run(seed: number, options: Partial<Options> = {}): Promise<Result> {
  runs += 1;
  return simulate({ seed, days, folder: `${root}/${runs}`, ...options });
}

if (values.seed !== undefined) await replay(Number(values.seed));
else await campaign();

async function replay(seed: number): Promise<void> {
  const result = await run(seed);
  const again = await run(seed);
  const difference = firstDifference(result.steps, again.steps);
  if (difference !== null) fail(`Seed ${seed} is not deterministic. The first difference:\n${difference}`);
  if (result.breach === null) return console.log(`Seed ${seed}: nothing broken in ${days} days.`);
  await report(result);
}

async function campaign(): Promise<void> {
  // Virtual time replaces `Date` but not this function.
  const realNow = Date.now;
  const began = realNow();
  const first = values.from === undefined ? began % DAY_SEEDS : Number(values.from);
  const most = values.seconds === undefined ? Number(values.count) : Number.POSITIVE_INFINITY;
  const forMs = values.seconds === undefined ? Number.POSITIVE_INFINITY : Number(values.seconds) * 1_000;
  const isOver = (): boolean => realNow() - began >= forMs;
  const counts = new Map<string, number>();
  const situations = new Set<string>();
  const slowest = { seed: first, seconds: 0 };
  console.log(`The first seed is ${first}.`);
  let seed = first;
  for (; seed < first + most; seed += 1) {
    const before = process.cpuUsage();
    const result = await run(seed, { isOver });
    if (result.breach !== null) {
      printLast(result);
      console.log(`\nSeed ${seed}, number ${seed - first + 1} of this campaign: ${result.breach}`);
      return fail(replayOf(seed));
    }
    // The last seed ended early and does not count.
    if (isOver()) break;
    const { user, system } = process.cpuUsage(before);
    const seconds = (user + system) / 1e6;
    console.log(`Seed ${seed}: nothing broken, ${seconds.toFixed(1)} s of CPU.`);
    if (seconds > slowest.seconds) Object.assign(slowest, { seed, seconds });
    for (const situation of result.situations) situations.add(situation);
    for (const [name, count] of result.counts) counts.set(name, (counts.get(name) ?? 0) + count);
  }
  const minutes = (realNow() - began) / 60_000;
  const seeds = seed - first;
  console.log(`${seeds} seeds from ${first} on: nothing broken in ${seeds * days} virtual days.`);
  console.log(`${Math.round((seeds * days) / minutes)} virtual days per minute.`);
  console.log(`The slowest seed was ${slowest.seed}, with ${slowest.seconds.toFixed(1)} s of CPU.`);
  for (const [name, count] of [...counts].sort()) console.log(`  ${name}: ${count}`);
  const missing = expected().filter((name) => !situations.has(name));
  if (seeds >= SEEDS_FOR_ALL_SITUATIONS && missing.length > 0)
    fail(`Every situation must occur in a campaign of this size, and these did not: ${missing.join(', ')}`);
}

function expected(): string[] {
  const named = FEATURES.flatMap(({ situations = {} }) => Object.keys(situations));
  return [...named, ...SITUATIONS];
}

/** Prints the last steps before a breach, and the faults without which it does not happen. */
async function report(result: Result): Promise<void> {
  const { seed, breach, faults } = result;
  printLast(result);
  console.log(`\nSeed ${seed}: ${breach}`);
  const needed = await neededFaults(
    faults.map(({ name }) => name),
    async (without) => (await run(seed, { without })).breach === breach,
  );
  const shown = faults.filter(({ name }) => needed.includes(name)).map((fault) => JSON.stringify(fault));
  console.log(`Faults that it needs: ${shown.length === 0 ? 'none' : `\n  ${shown.join('\n  ')}`}`);
  fail(replayOf(seed));
}

function printLast({ steps }: Result): void {
  console.log(steps.slice(-STEPS_SHOWN).join('\n'));
}

function replayOf(seed: number): string {
  return `Replay it with: npm run simulate-faults -- --seed ${seed} --days ${days}`;
}

function fail(why: string): void {
  console.log(why);
  process.exitCode = 1;
}
