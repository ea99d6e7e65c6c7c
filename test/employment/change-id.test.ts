import t from 'tap';
import { changeIdAt } from '../../src/employment/change-id.ts';

t.test('ids of changes are different UUIDs of version 7 that sort by their time', async (t) => {
  const times = ['2026-07-13T09:00:00.000Z', '2026-07-13T09:00:00.001Z', '2036-07-13T09:00:00.000Z'];
  const ids = times.map((time) => changeIdAt(new Date(time)));
  for (const id of ids) t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  t.strictSame(ids.toSorted(), ids);
  const time = Number.parseInt((ids[0] as string).replaceAll('-', '').slice(0, 12), 16);
  t.equal(time, Date.parse(times[0] as string));
  t.not(changeIdAt(new Date(0)), changeIdAt(new Date(0)));
});
