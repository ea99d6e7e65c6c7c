import { join } from 'node:path';
import t from 'tap';
import { type Event, eventOf } from '../support/load.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';
import { callsIn, isWriteToLog, SYNCS, strace, straceMissing } from '../support/strace.ts';
import { stretched } from '../support/stretched.ts';

const skip = await straceMissing();

/** The sync of the log that fails. Some events are stored and applied before it. */
const NTH = 12;
const ENDS_WITHIN_MS = 10_000;

const faults = {
  'a failing sync, and all later ones': `${SYNCS.join(',')}:error=EIO:when=${NTH}+`,
  'a sync that fails once, from a disk that then reports success': `${SYNCS.join(',')}:error=EIO:when=${NTH}`,
  'a failing write': `pwrite64:error=EIO:when=${NTH * 8}`,
};

for (const [fault, inject] of Object.entries(faults)) {
  t.test(`${fault}: 503, nothing more is written, and the process ends`, { skip }, async (t) => {
    const stage = await setStage(t);
    const { sidecar, databaseUrl } = stage;
    const trace = join(stage.folder, 'trace');
    const log = `${databaseUrl.replace(/^sqlite:/, '')}-wal`;
    await strace(t, sidecar.pid, trace, [...SYNCS, 'pwrite64'], [inject], [log]);
    const acknowledged: Event[] = [];
    let refused: Event | undefined;
    for (let index = 0; refused === undefined && index < 500; index += 1) {
      const event = eventOf('failing', index);
      const answer = await stage.send(event).catch(() => null);
      if (answer?.status === 204) acknowledged.push(event);
      else {
        refused = event;
        // A worker thread may have met the fault first, and then the connection ends without a response.
        t.ok(answer === null || answer.status === 503, `refused with ${answer?.status}`);
      }
    }
    const began = performance.now();
    const later = await stage.send(eventOf('later', 0)).catch(() => null);
    t.not(later?.status, 204, 'nothing is acknowledged after the fault');
    t.equal(await sidecar.ended, 1);
    const tookMs = Math.round(performance.now() - began);
    t.ok(tookMs < stretched(ENDS_WITHIN_MS), `it ended after ${tookMs} ms`);
    t.match(sidecar.logged('fatal'), [{ code: /^SQLITE_IOERR_(FSYNC|WRITE)$/ }]);

    const calls = callsIn(trace);
    const failed = calls.findIndex(({ answer }) => answer?.startsWith('-1 EIO'));
    t.ok(failed >= 0, 'the fault hit the log');
    const written = calls.slice(failed + 1).filter(isWriteToLog);
    t.strictSame(written, [], 'nothing was written to the log after the fault');

    await stage.start();
    const all = [refused as Event, ...acknowledged];
    for (const event of all) t.equal((await stage.send(event)).status, 204);
    await stage.settled();
    t.strictSame(await breaches({ databaseUrl, acknowledged: all }), []);
  });
}
