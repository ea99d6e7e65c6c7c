import { randomUUID } from 'node:crypto';
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import {
  type DeductionCursor,
  type DeductionFilter,
  type DeductionState,
  getDeduction,
  isAnyInEffect,
  listDeductions,
  versionsAfter,
  versionsOf,
} from '../../src/ledger/deductions.ts';
import { type NewFact, recordFacts } from '../../src/ledger/roster.ts';
import { scratch } from '../database/scratch.ts';
import { onEitherEngine } from '../support/engine.ts';
import { employment } from '../support/payroll.ts';
import { incoming, record } from './incoming.ts';

const TODAY = '2026-03-15';
const FEBRUARY = '2026-02-01T00:00:00.000Z';
const MARCH = '2026-03-01T00:00:00.000Z';

const employed = (employeeId: string, employer_id: string, fields: Partial<NewFact> = {}): NewFact =>
  employment(employeeId, { employer_id, ...fields });

function roster(db: Db, facts: NewFact[], asOf = FEBRUARY): Promise<number> {
  const source = { source: 'census', source_id: randomUUID(), asOf } as const;
  return transact(db, (trx) => recordFacts(trx, facts, source, asOf));
}

/** Returns `employee/deduction amount`, in the order of the list. */
function brief(deductions: readonly DeductionState[]): string[] {
  return deductions.map(
    ({ version }) => `${version.employee_id}/${version.deduction_id} ${version.member_contribution}`,
  );
}

async function all(db: Db, filter: DeductionFilter, limit = 100): Promise<DeductionState[]> {
  const listed: DeductionState[] = [];
  let after: DeductionCursor | undefined;
  for (;;) {
    const { deductions, next } = await listDeductions(db, filter, { after, limit }, TODAY);
    if (deductions.length > limit) throw new Error('a page is longer than its limit');
    listed.push(...deductions);
    if (next === null) return listed;
    if (deductions.length !== limit) throw new Error('a page before the last is not full');
    after = next;
  }
}

/**
 * emp-1 with acme: dental, and medical that changes on 1 April, and an ended vision; emp-2 with beta: a medical deduction
 * that emp-1 had before; emp-3 is in no roster; emp-4 is with both employers.
 */
async function filled(t: Test): Promise<Db> {
  const { db } = await scratch(t);
  await roster(db, [
    employed('emp-1', 'acme'),
    employed('emp-2', 'beta'),
    employed('emp-4', 'acme'),
    employed('emp-4', 'beta'),
  ]);
  const january = '2026-01-10T00:00:00Z';
  await record(
    db,
    [
      incoming('e1', january, {
        id: 'dental',
        line_of_coverage: 'dental',
        taxability: 'post_tax',
        member_contribution: '10',
      }),
      incoming('e2', january, { id: 'medical', member_contribution: '20' }),
      incoming('e3', january, { id: 'moved', member_contribution: '30' }),
      incoming('e4', january, { id: 'stranger', employee_id: 'emp-3', member_contribution: '40' }),
      incoming('e5', january, { id: 'twice', employee_id: 'emp-4', member_contribution: '50' }),
      incoming('e6', january, {
        id: 'vision',
        line_of_coverage: 'vision',
        effective_end: '2026-02-28',
        member_contribution: '60',
      }),
    ],
    FEBRUARY,
  );
  await record(
    db,
    [
      incoming('e7', '2026-02-10T00:00:00Z', {
        id: 'medical',
        member_contribution: '21',
        effective_start: '2026-04-01T05:31:56Z',
      }),
      incoming('e8', '2026-02-10T00:00:00Z', {
        id: 'moved',
        employee_id: 'emp-2',
        member_contribution: '31',
      }),
    ],
    MARCH,
  );
  return db;
}

onEitherEngine('deductions are listed by employee and id, and match all filters', async (t) => {
  const db = await filled(t);
  const one = ['emp-1/dental 10', 'emp-1/medical 21', 'emp-1/vision 60'];
  const everything = [...one, 'emp-2/moved 31', 'emp-3/stranger 40', 'emp-4/twice 50'];
  const filters: [filter: DeductionFilter, expected: string[]][] = [
    [{}, everything],
    [{ employeeId: 'emp-1' }, one],
    [{ employeeId: 'emp-2' }, ['emp-2/moved 31']],
    [{ employeeId: 'nobody' }, []],
    [{ employerId: 'acme' }, one],
    [{ employerId: 'beta' }, ['emp-2/moved 31']],
    [{ employerId: 'nobody' }, []],
    [{ employerId: 'beta', employeeId: 'emp-1' }, []],
    [{ matched: false }, ['emp-3/stranger 40']],
    [{ matched: true }, everything.filter((line) => !line.startsWith('emp-3'))],
    [{ lineOfCoverage: 'medical' }, everything.filter((line) => !/dental|vision/.test(line))],
    [{ lineOfCoverage: 'hsa' }, []],
    [{ taxability: 'post_tax' }, ['emp-1/dental 10']],
    [{ taxability: 'pre_tax', employerId: 'acme', lineOfCoverage: 'vision' }, ['emp-1/vision 60']],
    [{ employerId: 'acme', on: '2026-02-28' }, ['emp-1/dental 10', 'emp-1/medical 20', 'emp-1/vision 60']],
    [{ employerId: 'acme', on: '2026-03-31' }, ['emp-1/dental 10', 'emp-1/medical 20']],
    [{ employerId: 'acme', on: '2026-04-01' }, ['emp-1/dental 10', 'emp-1/medical 21']],
    [
      { employeeId: 'emp-1', knownAt: FEBRUARY },
      ['emp-1/dental 10', 'emp-1/medical 20', 'emp-1/moved 30', 'emp-1/vision 60'],
    ],
    [{ employeeId: 'emp-2', knownAt: FEBRUARY }, []],
    [
      { employeeId: 'emp-1', on: '2026-04-01', knownAt: FEBRUARY },
      ['emp-1/dental 10', 'emp-1/medical 20', 'emp-1/moved 30'],
    ],
    [{ knownAt: '2026-01-31T23:59:59.999Z' }, []],
    [{ matched: false, knownAt: FEBRUARY }, ['emp-3/stranger 40']],
  ];
  for (const [filter, expected] of filters)
    t.strictSame(brief(await all(db, filter)), expected, JSON.stringify(filter));
});

onEitherEngine('every page size lists each deduction once, in one order', async (t) => {
  const db = await filled(t);
  for (const filter of [
    {},
    { employerId: 'acme' },
    { employeeId: 'emp-1' },
    { on: TODAY },
    { matched: true },
  ]) {
    const whole = brief(await all(db, filter));
    for (const limit of [1, 2, 3, whole.length, whole.length + 1])
      t.strictSame(brief(await all(db, filter, limit)), whole, `${JSON.stringify(filter)} by ${limit}`);
  }
});

onEitherEngine('a list that skips many candidates lets other work run', async (t) => {
  const { db } = await scratch(t);
  await record(
    db,
    Array.from({ length: 450 }, (_, index) =>
      incoming(`e${index}`, '2026-01-01T00:00:00Z', { id: `ded-${index}` }),
    ),
  );
  let turns = 0;
  let other = setImmediate(function take() {
    turns += 1;
    other = setImmediate(take);
  });
  t.teardown(() => clearImmediate(other));
  t.strictSame(await all(db, { knownAt: '2025-12-31T00:00:00.000Z' }), []);
  t.ok(turns >= 2, `${turns} turns in three pages of candidates`);
});

onEitherEngine('a page ends after reading many candidates, and the next one continues there', async (t) => {
  const { db } = await scratch(t);
  const count = 4_000;
  await record(
    db,
    Array.from({ length: count }, (_, index) =>
      incoming(`e${index}`, '2026-01-01T00:00:00Z', {
        id: `ded-${String(index).padStart(5, '0')}`,
        employee_id: 'emp-1',
        effective_start: index === count - 1 ? '2026-01-01' : '2027-01-01',
      }),
    ),
  );
  const filter = { on: '2026-06-30' };
  const first = await listDeductions(db, filter, { limit: 5 }, TODAY);
  t.strictSame(first.deductions, [], 'no match among the first candidates');
  t.not(first.next, null, 'the list continues');
  const second = await listDeductions(db, filter, { after: first.next ?? undefined, limit: 5 }, TODAY);
  t.strictSame([second.deductions.length, second.next], [1, null]);
});

onEitherEngine('the employer depends on the employee, the requested date and what was known', async (t) => {
  const { db } = await scratch(t);
  await record(db, [incoming('e1', '2026-01-01T00:00:00Z')], FEBRUARY);
  const employers = async (filter: DeductionFilter = {}) =>
    (await all(db, filter)).map(({ employerId, matched }) => [employerId, matched]);
  t.strictSame(await employers(), [[null, false]], 'unknown employees are kept and shown as unmatched');
  await roster(db, [employed('emp-1', 'acme', { termination_date: '2026-02-28' })], FEBRUARY);
  await roster(db, [employed('emp-1', 'beta', { hire_date: '2026-03-01' })], MARCH);
  t.strictSame(await employers({ on: '2026-02-28' }), [['acme', true]]);
  t.strictSame(await employers({ on: '2026-03-01' }), [['beta', true]]);
  t.strictSame(await employers(), [['beta', true]], 'the default is today');
  t.strictSame(await employers({ knownAt: FEBRUARY }), [['acme', true]], 'later facts were not known');
  t.strictSame(await employers({ employerId: 'acme' }), [], 'a former employer does not list it');
  t.strictSame(await employers({ employerId: 'acme', on: '2026-02-28' }), [['acme', true]]);
  await roster(db, [employed('emp-1', 'acme', { termination_date: null })], '2026-03-02T00:00:00.000Z');
  t.strictSame(await employers(), [[null, true]], 'active with two at once: not guessed about');
});

onEitherEngine('a deduction has its latest state, and lists have all its versions', async (t) => {
  const db = await filled(t);
  t.match(await getDeduction(db, 'moved', TODAY), {
    version: { event_id: 'e8', employee_id: 'emp-2', member_contribution: '31' },
    employerId: 'beta',
    matched: true,
  });
  t.equal(await getDeduction(db, 'unknown', TODAY), null);
  const events = (states: DeductionState[]) => states.map(({ version }) => version.event_id);
  const moved = async (after: number | undefined, limit: number) => {
    const { versions, next } = await versionsOf(db, 'moved', { after, limit }, TODAY);
    return [events(versions), next];
  };
  t.strictSame(await moved(undefined, 2), [['e3', 'e8'], null]);
  t.strictSame(await moved(undefined, 1), [['e3'], 7]);
  t.strictSame(await moved(7, 1), [['e8'], null]);
  t.strictSame(await moved(12, 1), [[], null]);
  t.strictSame(await versionsOf(db, 'unknown', { limit: 9 }, TODAY), { versions: [], next: null });

  const feed: DeductionState[] = [];
  for (let position = 0; ; ) {
    const page = await versionsAfter(db, position, 3, TODAY);
    if (page.length === 0) break;
    feed.push(...page);
    position = (page.at(-1) as DeductionState).version.position;
  }
  t.strictSame(events(feed), ['e1', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7', 'e8'], 'in commit order, each once');
});

onEitherEngine('a ledger is in use once the latest state of a deduction is in effect', async (t) => {
  const { db } = await scratch(t);
  const isInUse = () => isAnyInEffect(db, TODAY);
  t.notOk(await isInUse(), 'without deductions');
  const from = (effective_start: string, effective_end: string | null, sent: string) =>
    record(db, [incoming(sent, sent, { effective_start, effective_end })]);
  await from('2026-04-01', null, FEBRUARY);
  t.notOk(await isInUse(), 'before the first one starts');
  await from('2026-02-01', TODAY, MARCH);
  t.ok(await isInUse());
  t.notOk(await isAnyInEffect(db, '2026-03-16'), 'after the last one ended');
});
