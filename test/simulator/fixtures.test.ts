import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import t from 'tap';
import { census } from '../../src/contract/census.ts';
import { loadFixtures } from '../../src/simulator/events.ts';
import { makeWorld } from '../../src/simulator/world.ts';

const ROOT = join(import.meta.dirname, '../../fixtures');
const EMPLOYERS = ['harbor-clinic', 'maple-bakery'];
const readJson = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

t.test('a folder is read in order of file names, and fixtures/ means its events folder', async (t) => {
  const fixtures = loadFixtures(join(ROOT, 'events'));
  t.strictSame(
    fixtures.map(({ file }) => file),
    readdirSync(join(ROOT, 'events')).sort(),
  );
  t.strictSame(loadFixtures(ROOT), fixtures);
  t.equal(new Set(fixtures.map(({ id }) => id)).size, fixtures.length);
});

t.test('a file that is not an event is rejected with its path', async (t) => {
  const folder = t.testdir({
    'no-id.json': '{"body": {}}',
    'no-body.json': '{"id": "msg_1"}',
    'list.json': '[]',
    'null.json': 'null',
    'half.json': '{"id": ',
    empty: {},
  });
  for (const name of ['no-id.json', 'no-body.json', 'list.json', 'null.json']) {
    t.throws(() => loadFixtures(join(folder, name)), { message: new RegExp(`${name} is not an event`) });
  }
  t.throws(() => loadFixtures(join(folder, 'half.json')), { message: /half\.json is not valid JSON/ });
  t.throws(() => loadFixtures(join(folder, 'empty')), { message: /empty has no \.json files/ });
  t.throws(() => loadFixtures(join(folder, 'missing.json')), { code: 'ENOENT' });
});

t.test('the censuses pass the contract and equal the censuses of seed 1', async (t) => {
  t.strictSame(
    readdirSync(join(ROOT, 'census/json')),
    EMPLOYERS.map((id) => `${id}.json`),
  );
  for (const id of EMPLOYERS) {
    const body = readJson(`census/json/${id}.json`);
    t.strictSame(census.problems(body), []);
    t.strictSame(body, makeWorld(1).get(id));
  }
});

t.test('the CSV files contain the same censuses, with field paths as column names', async (t) => {
  for (const id of EMPLOYERS) {
    const body = readJson(`census/json/${id}.json`);
    t.strictSame(readJson(`census/csv/${id}.organization.json`), body.organization);
    const rows = parse(readFileSync(join(ROOT, `census/csv/${id}.csv`)), { columns: true }) as Record<
      string,
      string
    >[];
    const given = rows.map((row) =>
      Object.fromEntries(Object.entries(row).filter(([, cell]) => cell !== '')),
    );
    t.strictSame(
      given,
      body.employees.map((employee: unknown) => Object.fromEntries(leavesOf(employee))),
    );
  }
});

/** Returns field paths and texts of an employee. */
function leavesOf(value: unknown, path = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, inner]) => {
    if (Array.isArray(value)) return leavesOf(inner, `${path}[${name}]`);
    return leavesOf(inner, path === '' ? name : `${path}.${name}`);
  });
}
