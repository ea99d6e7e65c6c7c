import t from 'tap';
import { firstDifference } from '../../../src/cli/demo/scene.ts';

t.test('a difference is named by its path: the first one, wherever it lies', async (t) => {
  const value = { a: [{ b: 1 }, { b: 2, c: null }], d: 'x' };
  t.equal(firstDifference(structuredClone(value), value), null);
  const cases: [found: unknown, path: string][] = [
    [{ ...value, d: 'y' }, 'd'],
    [{ ...value, e: 1 }, 'e'],
    [{ d: 'x' }, 'a'],
    [{ ...value, a: [{ b: 1 }] }, 'a[1]'],
    [{ ...value, a: [{ b: 1 }, { b: 2, c: undefined }] }, 'a[1].c'],
    [{ ...value, a: { 0: { b: 1 }, 1: { b: 2, c: null } } }, 'a'],
    [null, 'all of it'],
  ];
  for (const [found, path] of cases) t.equal(firstDifference(found, value), path);
});
