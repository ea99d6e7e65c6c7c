import { join } from 'node:path';
import t from 'tap';
import type { Event } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';
import { callsIn, SYNCS, strace, straceMissing } from '../support/strace.ts';

const skip = await straceMissing();

t.setTimeout(900_000);

/**
 * The process is killed at the nth of these calls in any thread: before a sync, while writing a commit to the log, or
 * after the commit, when the response is written to the socket.
 */
const FATES = [
  ...[1, 2, 3, 5, 8, 13, 40].map((nth) => ({ calls: SYNCS, nth })),
  ...[1, 4, 9, 50, 333].map((nth) => ({ calls: ['pwrite64'], nth })),
  ...[2, 10, 45, 160].map((nth) => ({ calls: ['write', 'writev'], nth })),
];

t.test('acknowledged events survive SIGKILL at any call', { skip }, async (t) => {
  const stage = await setStage(t);
  const { databaseUrl } = stage;
  const acknowledged = new Map<string, Event>();
  let storedUnanswered = 0;
  for (const [round, { calls, nth }] of FATES.entries()) {
    const what = `the ${nth}. ${calls.join(' or ')}`;
    const { pid, ended } = stage.sidecar;
    const trace = join(stage.folder, `trace-${round}`);
    const inject = `${calls.join(',')}:signal=SIGKILL:when=${nth}`;
    const traced = await strace(t, pid, trace, [...SYNCS, 'pwrite64', 'write', 'writev'], [inject]);
    const load = stage.load(`fate-${round}`, { connections: 8 });
    t.equal(await ended, 'SIGKILL', what);
    await Promise.all([load.ended, traced.ended]);
    const last = callsIn(trace).filter(({ answer }) => answer === null || answer === '?');
    const isAtCall = last.some(({ name }) => (calls as readonly string[]).includes(name));
    t.ok(isAtCall, 'it was killed at that call');
    for (const event of load.acknowledged.values()) acknowledged.set(event.id, event);

    await stage.start();
    await stage.settled();
    t.strictSame(await breaches({ databaseUrl, acknowledged: acknowledged.values() }), [], `after ${what}`);
    for (const event of load.inDoubt.values()) {
      if ((await stage.api.call('GET', `/v1/events/${event.id}`)).status === 200) storedUnanswered += 1;
      t.equal((await stage.send(event)).status, 204, 'the retry is accepted');
      acknowledged.set(event.id, event);
    }
    await stage.settled();
    const twice = await breaches({ databaseUrl, acknowledged: acknowledged.values() });
    t.strictSame(twice, [], 'the event takes effect once');
  }
  t.ok(storedUnanswered > 0, `${storedUnanswered} events were stored without a response`);
});
