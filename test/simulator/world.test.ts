import assert from 'node:assert/strict';
import t from 'tap';
import { census } from '../../src/contract/census.ts';
import { deduction, LINES_OF_COVERAGE } from '../../src/contract/deduction.ts';
import { PAY_FREQUENCIES } from '../../src/contract/employee.ts';
import { makeDeduction } from '../../src/simulator/enrolments.ts';
import { makeCensus, makeWorld } from '../../src/simulator/world.ts';
import fc from '../support/seeded.ts';

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
        for (const amount of [made.member_contribution, made.employer_contribution]) {
          assert.match(amount, /^\d+\.\d\d$/);
        }
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
