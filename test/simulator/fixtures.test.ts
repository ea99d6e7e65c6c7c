import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import t from 'tap';
import { census } from '../../src/contract/census.ts';
import { deduction, LINES_OF_COVERAGE } from '../../src/contract/deduction.ts';
import { PAY_FREQUENCIES } from '../../src/contract/employee.ts';
import { makeDeduction } from '../../src/simulator/enrolments.ts';
import { loadFixtures } from '../../src/simulator/events.ts';
import { makeCensus, makeWorld } from '../../src/simulator/world.ts';
import fc from '../support/seeded.ts';

const ROOT = join(import.meta.dirname, '../../fixtures');
const EMPLOYERS = ['harbor-clinic', 'maple-bakery'];
const readJson = (path: string) => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

t.test('a folder is read in order of file names, and fixtures/ means its events folder', async (t) => {
  const fixtures = loadFixtures(join(ROOT, 'events'));
  const files = fixtures.map(({ file }) => file);
  t.strictSame(files, readdirSync(join(ROOT, 'events')).sort());
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
  for (const name of ['no-id.json', 'no-body.json', 'list.json', 'null.json'])
    t.throws(() => loadFixtures(join(folder, name)), { message: new RegExp(`${name} is not an event`) });
  t.throws(() => loadFixtures(join(folder, 'half.json')), { message: /half\.json is not valid JSON/ });
  t.throws(() => loadFixtures(join(folder, 'empty')), { message: /empty has no \.json files/ });
  t.throws(() => loadFixtures(join(folder, 'missing.json')), { code: 'ENOENT' });
});

t.test('the censuses pass the contract and equal the censuses of seed 1', async (t) => {
  const files = EMPLOYERS.map((id) => `${id}.json`);
  t.strictSame(readdirSync(join(ROOT, 'census/json')), files);
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
    const rows: object[] = parse(readFileSync(join(ROOT, `census/csv/${id}.csv`)), { columns: true });
    for (const [index, row] of rows.entries()) {
      const cells = Object.entries(row).filter(([, cell]) => cell !== '');
      t.strictSame(cells.sort(), leavesOf(body.employees[index]).sort());
    }
    t.equal(rows.length, body.employees.length);
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

const seeds = fc.integer();
const employerIds = fc.constantFrom('maple-bakery', 'harbor-clinic', 'a/b c.d', 'Bäckerei 北');

t.test('every generated census passes the contract', async () => {
  fc.assert(
    fc.property(seeds, employerIds, fc.integer({ min: 1, max: 40 }), (seed, employerId, employees) => {
      const made = makeCensus(seed, employerId, employees);
      assert.deepEqual(census.problems(made), []);
      assert.equal(made.employees.length, employees);
    }),
  );
});

t.test('every generated deduction passes the contract', async () => {
  const lines = fc.constantFrom(...LINES_OF_COVERAGE);
  const frequencies = fc.constantFrom(...PAY_FREQUENCIES);
  fc.assert(
    fc.property(
      seeds,
      lines,
      frequencies,
      fc.integer({ min: 1, max: 3 }),
      (seed, line, payFrequency, nth) => {
        const enrolment = { employeeId: 'maple-bakery-001', payFrequency, line, startsOn: '2026-02-01', nth };
        const made = makeDeduction(seed, enrolment);
        assert.deepEqual(deduction.problems(made), []);
        assert.equal(made.line_of_coverage, line);
        assert.ok(['monthly', payFrequency].includes(made.period));
        for (const amount of [made.member_contribution, made.employer_contribution])
          assert.match(amount, /^\d+\.\d\d$/);
      },
    ),
  );
});

t.test('the same seed creates the same world, another seed another one', async (t) => {
  t.strictSame([...makeWorld(7)], [...makeWorld(7)]);
  t.notSame([...makeWorld(7)], [...makeWorld(8)]);
});

t.test('no employee could be mistaken for a real person', async (t) => {
  for (const { organization, employees } of makeWorld(3, ['a'], 500).values()) {
    t.match(organization.fein, /^00-/);
    t.match(organization.contact.email, /@example\.com$/);
    t.ok(employees.every((each) => each.email.endsWith('@example.com')));
    t.ok(employees.every((each) => each.ssn === undefined || /^000-\d\d-\d{4}$/.test(each.ssn)));
    t.ok(
      employees.every((each) => each.phone_number === undefined || /^20255501\d\d$/.test(each.phone_number)),
    );
    t.ok(employees.some((each) => each.ssn) && employees.some((each) => each.phone_number));
  }
});
