import t from 'tap';
import Type from 'typebox';
import { cursorOf } from '../../src/formats/cursor.ts';
import { deductionOf, deliver } from './deliver.ts';
import { start } from './start.ts';

const cursor = cursorOf('fruits', Type.Object({ name: Type.String(), at: Type.Integer() }));

t.test('a cursor encodes any position as text that needs no escaping in a query', async (t) => {
  for (const name of ['', 'ü/🙂 +&=?', '"\\', 'x'.repeat(255)]) {
    const text = cursor.page([], { name, at: 7 }).next_cursor as string;
    t.match(text, /^[A-Za-z0-9_-]+$/);
    t.strictSame(cursor.decode(text), { name, at: 7 });
  }
  t.strictSame(cursor.page([], null), { data: [], has_more: false, next_cursor: null });
  t.equal(cursor.decode(undefined), undefined);
});

t.test('an invalid cursor is rejected by the name of the parameter', async (t) => {
  const other = cursorOf('stones', Type.Object({ name: Type.String(), at: Type.Integer() }));
  const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const foreign = {
    'of another list': other.page([], { name: 'a', at: 1 }).next_cursor as string,
    'from another release': text({ list: 'fruits', at: 1 }),
    'with a position of another kind': text({ list: 'fruits', at: { name: 1, at: 1 } }),
    'with a number beyond the range of the database': text({ list: 'fruits', at: { name: 'a', at: 1e300 } }),
    'with a NUL': text({ list: 'fruits', at: { name: 'a\0', at: 1 } }),
    'with half a surrogate pair': text({ list: 'fruits', at: { name: '\ud800', at: 1 } }),
    'cut short': cursor.page([], { name: 'a', at: 1 }).next_cursor?.slice(0, -6),
    'not base64': '!!!',
    'not JSON': Buffer.from('fruits').toString('base64url'),
    'no object': text(null),
    'a prototype': Buffer.from('{"__proto__":{"list":"fruits"}}').toString('base64url'),
  };
  for (const [name, given] of Object.entries(foreign)) {
    t.throws(() => cursor.decode(given), { code: 'INVALID_REQUEST', message: /^cursor: / }, name);
  }
});

t.test('a list rejects the cursor of another list', async (t) => {
  const { call, db } = await start(t);
  await deliver(db, [deductionOf('e1', { id: 'd1' }), deductionOf('e2', { id: 'd2' })]);
  const urls = ['/v1/deductions', '/v1/events', '/v1/census-syncs'];
  const { next_cursor } = (await call({ url: '/v1/deductions?limit=1' })).json;
  for (const url of urls) {
    const { status, json } = await call({ url: `${url}?cursor=${next_cursor}` });
    t.equal(status, url === '/v1/deductions' ? 200 : 400, url);
    if (status === 400) t.match(json.errors, [{ path: 'cursor', rule: /next_cursor/ }]);
  }
});
