import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { NESTING_MAX, parseJson } from '../../src/contract/json.ts';
import { cpuTime } from '../support/cpu-time.ts';
import fc from '../support/seeded.ts';

const nested = (levels: number, open = '[', close = ']') => open.repeat(levels) + close.repeat(levels);

const REFUSED: Record<string, string[]> = {
  'is not valid JSON': [
    ...['', ' ', '{', '{"a":1,}', "{'a':1}", 'NaN', '{"a":01}', '[1]]', '"a\nb"', '\ufeff{}', '"\\', ']'],
  ],
  'names a field twice in one object': [
    ...[
      '{"a":1,"a":1}',
      '{"a":1,"\\u0061":2}',
      '[{"x":{"a":1,"b":2,"a":3}}]',
      '{"1":1,"1":2}',
      '{"":1,"":2}',
    ],
  ],
  'has a field named __proto__': ['{"__proto__":{"admin":true}}', '{"a":[{"\\u005f_proto__":1}]}'],
  [`is nested deeper than ${NESTING_MAX} levels`]: [
    ...[nested(NESTING_MAX + 1), nested(NESTING_MAX, '[{"a":', '}]')],
    ...['['.repeat(262_144), '{"a":'.repeat(50_000)],
  ],
  'has a NUL character in a string': ['"\\u0000"', '{"a\\u0000":1}', '[["x\\u0000y"]]'],
  'has half a surrogate pair in a string': [
    ...['"\\ud800"', '"\\udc00\\ud800"', '{"\\udfff":1}', '["a", "\ud83d"]'],
  ],
};

t.test('ambiguous JSON, or JSON that a database cannot store, is rejected with its reason', async (t) => {
  for (const [reason, texts] of Object.entries(REFUSED)) {
    for (const text of texts)
      t.same(parseJson(text), { ok: false, reason }, JSON.stringify(text.slice(0, 40)));
  }
});

t.test('a field named __proto__ changes no prototype', async (t) => {
  parseJson('{"__proto__":{"polluted":true}}');
  t.equal(({} as { polluted?: boolean }).polluted, undefined);
});

t.test('any JSON is parsed completely, and a duplicate field is detected', async () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }), { minKeys: 1 }), (object) => {
      const text = JSON.stringify(object);
      const parsed = parseJson(text);
      if (text.includes('"__proto__":')) return !parsed.ok;
      const name = JSON.stringify(Object.keys(object)[0]);
      const again = parseJson(`${text.slice(0, -1)},${name}:0}`);
      return parsed.ok && isDeepStrictEqual(parsed.value, JSON.parse(text)) && !again.ok;
    }),
    { numRuns: 300 },
  );
});

t.test('a hostile body of 256 KiB is checked in milliseconds', async (t) => {
  const size = 262_144;
  const hostile = {
    backslashes: `"${'\\\\'.repeat(size / 2 - 1)}"`,
    quotes: `"${'\\"'.repeat(size / 2 - 1)}"`,
    fields: `{${Array.from({ length: 25_000 }, (_, at) => `"${at.toString(36)}":1`).join()}}`,
    indexes: `{${Array.from({ length: 19_000 }, (_, at) => `"${at * 220_000}":1`).join()}}`,
    objects: `[${'{},'.repeat(size / 3 - 2)}{}]`,
  };
  for (const [name, text] of Object.entries(hostile)) {
    const { result, cpuMs } = await cpuTime(() => parseJson(text));
    t.equal(result.ok, true, name);
    // About 20 ms at most were measured. The limit allows for a slow machine, not for quadratic work.
    t.ok(cpuMs < 500, `${name} in time`);
  }
});
