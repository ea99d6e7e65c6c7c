/** SIGKILL under load, again and again on one file, each time followed by the judge. */
import type { Test } from 'tap';
import { between, seededRandom } from '../../src/simulator/random.ts';
import { deliver, type Event, startLoad } from './load.ts';
import { breaches } from './oracle.ts';
import { type Stage, setStage } from './stage.ts';

/** The promise: ready again within so much. A round may fall into a moment when the machine is busy with other tests. */
const READY_WITHIN_MS = 5_000;
const READY_AT_ALL_WITHIN_MS = 20_000;
/** Acknowledged events before the kill, drawn from these: at the start, in the first batches, later. */
const KILLED_AFTER = { least: 1, most: 600 };

/** The seed decides when each round's kill comes, as far as that can be decided. */
export async function killRounds(t: Test, rounds: number, seed: number): Promise<void> {
  t.comment(`seed ${seed}`);
  const random = seededRandom('kills', seed);
  const stage = await setStage(t);
  const { databaseFile, keys } = stage;
  const acknowledged = new Map<string, Event>();
  const readyAfterMs: number[] = [];
  let inDoubt: Event[] = [];

  for (let round = 1; round <= rounds; round += 1) {
    const load = startLoad({
      port: stage.sidecar.port,
      secret: keys.webhookSecret,
      series: `round-${round}`,
    });
    // What nobody knows the end of is delivered again, as the provider does, also beside the next kill.
    const again = redeliver(stage, inDoubt, acknowledged);
    await load.reached(between(random, KILLED_AFTER.least, KILLED_AFTER.most));
    t.equal(await stage.sidecar.end('SIGKILL'), 'SIGKILL');
    await load.ended;
    inDoubt = [...(await again), ...load.inDoubt.values()];
    for (const event of load.acknowledged.values()) acknowledged.set(event.id, event);

    const began = performance.now();
    await stage.start();
    const ready = await fetch(`${stage.sidecar.receiver}/readyz`);
    const tookMs = Math.round(performance.now() - began);
    readyAfterMs.push(tookMs);
    t.equal(ready.status, 200);
    t.ok(tookMs < READY_AT_ALL_WITHIN_MS, `round ${round}: ready again after ${tookMs} ms`);
    await stage.settled();
    const found = breaches({ databaseFile, acknowledged: acknowledged.values() });
    t.strictSame(found, [], `round ${round}: ${acknowledged.size} acknowledged, ${inDoubt.length} in doubt`);
  }

  const median = readyAfterMs.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] as number;
  t.ok(median < READY_WITHIN_MS, `ready again after ${median} ms in the middle`);
  t.strictSame(await redeliver(stage, inDoubt, acknowledged), [], 'what was in doubt is taken in the end');
  await stage.settled();
  t.strictSame(breaches({ databaseFile, acknowledged: acknowledged.values() }), []);
}

/** Answers what is still in doubt. */
async function redeliver(
  { sidecar, keys }: Stage,
  events: readonly Event[],
  acknowledged: Map<string, Event>,
): Promise<Event[]> {
  const left: Event[] = [];
  for (const event of events) {
    const answer = await deliver(sidecar.port, keys.webhookSecret, event).catch(() => null);
    if (answer?.status === 204) acknowledged.set(event.id, event);
    else left.push(event);
  }
  return left;
}
