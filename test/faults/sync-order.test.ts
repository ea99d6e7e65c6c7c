import { join } from 'node:path';
import t from 'tap';
import { setStage } from '../support/stage.ts';
import { callsIn, isSyncOfLog, isWriteToLog, SYNCS, strace, straceMissing } from '../support/strace.ts';

const skip = await straceMissing();

t.test('the log is written and synced before an event is acknowledged', { skip }, async (t) => {
  const stage = await setStage(t);
  const { pid, end } = stage.sidecar;
  const trace = join(stage.folder, 'trace');
  const { ended } = await strace(t, pid, trace, [...SYNCS, 'pwrite64', 'read', 'write', 'writev']);
  const single = stage.load('single', { connections: 1, events: 20 });
  await single.ended;
  const many = stage.load('many', { connections: 32, events: 400 });
  await many.ended;
  t.equal(await end('SIGTERM'), 0);
  await ended;

  /** The latest event by connection, and the position of the write to the log by event. */
  const came = new Map<string, string>();
  const written = new Map<string, number>();
  let synced = -1;
  let syncs = 0;
  const acknowledged: string[] = [];
  const early: string[] = [];
  for (const [place, call] of callsIn(trace).entries()) {
    if (isWriteToLog(call)) {
      for (const [, id = ''] of call.text.matchAll(/evt_(\w+?)\\"/g))
        if (!written.has(id)) written.set(id, place);
    } else if (isSyncOfLog(call)) {
      synced = place;
      syncs += 1;
    } else if (call.name === 'read') {
      const [, id] = /svix-id: msg_(\w+?)\\r/.exec(call.text) ?? [];
      if (id !== undefined) came.set(call.on, id);
    } else if (call.text.includes('HTTP/1.1 204')) {
      const id = came.get(call.on) as string;
      acknowledged.push(`msg_${id}`);
      if (!((written.get(id) ?? Infinity) < synced)) early.push(id);
    }
  }
  const answered = [...single.acknowledged.keys(), ...many.acknowledged.keys()];
  t.strictSame(acknowledged.toSorted(), answered.toSorted());
  t.strictSame(early, []);
  t.ok(syncs >= 20 && syncs < 420, `${syncs} syncs: one per single event, shared by concurrent ones`);
});
