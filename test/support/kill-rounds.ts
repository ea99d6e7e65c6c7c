/** SIGKILL under load, repeatedly on one file, each time followed by the checks of oracle.ts. */
import { availableParallelism, loadavg } from 'node:os';
import type { Test } from 'tap';
import { between, seededRandom } from '../../src/simulator/random.ts';
import { type Event, redeliver } from './load.ts';
import { breaches } from './oracle.ts';
import { SEED } from './seeded.ts';
import { setStage } from './stage.ts';

/** The promised maximum until the process is ready again. */
const READY_WITHIN_MS = 5_000;
/** A single round may be this many times slower than the promise. */
const SLOWEST_ROUND = 4;
/** The number of acknowledged events before the kill, drawn from these: at the start, in the first batches, later. */
const KILLED_AFTER = { least: 1, most: 600 };

/** Returns the promised maximum, longer by the factor by which this machine has more work than processors. */
function readyWithinMs(): number {
  const [load = 0] = loadavg();
  return READY_WITHIN_MS * Math.max(1, load / availableParallelism());
}

/** The seed determines when each kill happens, as far as possible. */
export async function killRounds(t: Test, rounds: number): Promise<void> {
  t.comment(`seed ${SEED}`);
  const random = seededRandom('kills', SEED);
  const stage = await setStage(t);
  const { databaseUrl } = stage;
  const acknowledged = new Map<string, Event>();
  const readyAfterMs: number[] = [];
  let inDoubt: Event[] = [];

  for (let round = 1; round <= rounds; round += 1) {
    const load = stage.load(`round-${round}`);
    // Events without a known outcome are delivered again, as the provider does, even during the next kill.
    const again = redeliver(stage.send, inDoubt, acknowledged);
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
    t.ok(tookMs < SLOWEST_ROUND * readyWithinMs(), `round ${round}: ready again after ${tookMs} ms`);
    await stage.settled();
    const found = await breaches({ databaseUrl, acknowledged: acknowledged.values() });
    t.strictSame(found, [], `round ${round}: ${acknowledged.size} acknowledged, ${inDoubt.length} in doubt`);
  }

  const median = readyAfterMs.toSorted((a, b) => a - b)[Math.floor(rounds / 2)] as number;
  t.ok(median < readyWithinMs(), `median ${median} ms until ready again`);
  const left = await redeliver(stage.send, inDoubt, acknowledged);
  t.strictSame(left, [], 'events in doubt are accepted at the end');
  await stage.settled();
  t.strictSame(await breaches({ databaseUrl, acknowledged: acknowledged.values() }), []);
}
