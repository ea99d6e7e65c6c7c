import t from 'tap';
import {
  type Employment,
  employerOf,
  employmentsOf,
  isAbsentNow,
  isActive,
  isRepeated,
  type RosterFact,
  spellOn,
  valueOn,
} from '../../src/ledger/employment.ts';
import fc from '../support/seeded.ts';

type Given = Partial<Omit<RosterFact, 'recorded_at'>>;

type Report = [received: string, stated: Given];

const on = (received: string, stated: Given): Report => [received, stated];

/** Returns reports in the given order, each received on its day. */
function reports(...given: Report[]): RosterFact[] {
  return given.map(([received, stated], index) => ({
    employee_id: 'e-1',
    employer_id: 'a',
    position: index + 1,
    hire_date: null,
    termination_date: null,
    employment_status: null,
    pay_frequency: null,
    pay_group: null,
    absent: null,
    effective_on: null,
    received_on: received,
    source: 'census',
    source_id: 'census-1',
    recorded_at: `${received}T09:00:00.000Z`,
    ...stated,
  }));
}

const one = (list: readonly RosterFact[]) => employmentsOf(list)[0] as Employment;

const listed = (hire_date: string | null, termination_date: string | null = null): Given => ({
  ...{ hire_date, termination_date, absent: 0 },
});
const hired = (...dates: Parameters<typeof listed>): Given => ({ ...listed(...dates), source: 'new-hire' });
const left = (termination_date: string): Given => ({ termination_date, source: 'termination' });

/** Returns a date of 2026 with its year, and other dates as they are. */
const dayOf = (text = '') => (text.length === 'MM-DD'.length ? `2026-${text}` : text || null);

/** Reads a report such as `07-06 changed biweekly from 08-03` or `01-05 listed 2020-01-01..2025-03-31`. */
function read(text: string): Report {
  const [received, what, value = '', , from] = text.split(' ');
  const dates = value.split('..').map(dayOf) as [string | null, string?];
  const pay: Given = { pay_frequency: value, effective_on: dayOf(from) };
  const stated: Record<string, Given> = {
    ...{ paid: pay, changed: { ...pay, source: 'compensation-change' }, in: { pay_group: value } },
    ...{
      listed: listed(...dates),
      hired: hired(...dates),
      left: left(String(dates[0])),
      absent: { absent: 1 },
    },
  };
  return on(String(dayOf(received)), stated[what as string] as Given);
}

/** Tests the result after the arrow of the reports before it, by rule. */
function assertRules(
  rules: Record<string, string>,
  shown: (employment: Employment, expected: string) => string,
) {
  for (const [rule, text] of Object.entries(rules))
    t.test(rule, async (t) => {
      const [given = '', expected = ''] = text.split(' → ');
      t.equal(shown(one(reports(...given.split(', ').map(read))), expected), expected);
    });
}

/** The reports → the frequency in effect on days. */
const FREQUENCIES = {
  'without a fact nothing is in effect': '01-05 in north → 02-01 null',
  'a fact is in effect from its receipt, and the first one also before it':
    '01-05 paid weekly, 03-05 changed monthly → 2020-01-01 weekly, 03-04 weekly, 03-05 monthly',
  'a fact with a future effective date does not change the days before it':
    '01-05 paid weekly, 07-06 changed biweekly from 08-03 → 08-02 weekly, 08-03 biweekly',
  'a census between a report and its effective date does not undo it':
    '01-05 paid weekly, 07-06 changed biweekly from 08-03, 07-10 paid weekly → 08-02 weekly, 08-03 biweekly',
  'a census after the effective date undoes it':
    '07-06 changed biweekly from 08-03, 08-10 paid weekly → 08-09 biweekly, 08-10 weekly',
  'a fact with a past effective date applies from that date':
    '01-05 paid weekly, 02-01 paid monthly, 07-06 changed biweekly from 03-01 → 01-31 weekly, 02-15 monthly, 03-01 biweekly',
  'if two facts have the same date the later position applies':
    '01-05 changed weekly, 01-05 changed monthly → 01-05 monthly',
  'a report without an attribute does not erase it': '01-05 paid weekly, 02-05 in north → 03-01 weekly',
  'a census between two that differ from it applies until the next one':
    '01-05 paid weekly, 02-05 paid monthly, 03-05 paid weekly → 02-04 weekly, 02-05 monthly, 03-04 monthly, 03-05 weekly',
  'a census value with an effective date applies from it':
    '01-05 paid weekly, 02-05 paid monthly from 02-01, 03-05 paid weekly → 02-03 monthly',
};
assertRules(FREQUENCIES, (employment, expected) => {
  const days = expected.split(', ').map((line) => line.split(' ')[0] as string);
  return days.map((day) => `${day} ${valueOn(employment, 'pay_frequency', String(dayOf(day)))}`).join(', ');
});

t.test('pay group, status and absence have dates like the pay frequency', async (t) => {
  const before = { pay_group: 'north', employment_status: 'full_time', absent: 0 } as const;
  const after = { pay_group: 'south', employment_status: 'part_time', absent: 1 } as const;
  const employment = one(reports(on('2026-01-05', before), on('2026-02-05', after)));
  const valuesOn = (day: string) =>
    Object.fromEntries(
      Object.keys(before).map((name) => [name, valueOn(employment, name as keyof typeof before, day)]),
    );
  t.strictSame(valuesOn('2026-02-04'), before);
  t.strictSame(valuesOn('2026-02-05'), after);
  t.equal(isAbsentNow(employment), true);
});

/** The reports → the employments. */
const EMPLOYMENTS = {
  'a census or a hire begins the first employment': '01-05 listed 2020-01-01 → 2020-01-01..',
  'a hire date may be unknown': '01-05 listed → ?..',
  'a later hire date corrects the hire date of the employment':
    '01-05 hired 01-01, 02-05 listed 2025-12-15 → 2025-12-15..',
  'a hire after a termination begins a new employment':
    '01-05 listed 2020-01-01..2025-03-31, 05-05 hired 05-04 → 2020-01-01..2025-03-31, 05-04..',
  'a hire on or before the day of the termination does not begin an employment':
    '01-05 listed 2020-01-01..12-31, 05-05 hired 12-31 → 12-31..12-31',
  'the original hire date of a rehired employee changes no employment':
    '01-05 listed 2020-01-01..2025-03-31, 05-05 hired 05-04, 06-05 listed 2020-01-01 → 2020-01-01..2025-03-31, 05-04..',
  'a changed original hire date corrects the earlier employment of a rehired employee':
    '01-05 listed 2020-01-01..2025-03-31, 05-05 hired 05-04, 06-05 listed 2020-03-01 → 2020-03-01..2025-03-31, 05-04..',
  'a report with a hire and an earlier termination describes two employments':
    '01-05 listed 01-02..2025-06-30 → ?..2025-06-30, 01-02..',
  'a termination ends the latest employment that has begun':
    '01-05 listed 2020-01-01..2025-03-31, 05-05 hired 05-04, 05-06 left 2025-04-30, 05-07 left 08-31 → 2020-01-01..2025-04-30, 05-04..08-31',
  'a termination before every hire ends an earlier employment':
    '05-05 hired 05-04, 05-06 left 03-31, 05-07 left 04-15 → ?..04-15, 05-04..',
  'the latest report of a termination applies':
    '01-05 listed 2020-01-01, 02-05 left 02-28, 02-06 left 01-31 → 2020-01-01..01-31',
  'a census without the termination date cancels a termination before its receipt date':
    '01-05 listed 2020-01-01, 02-05 left 01-31, 02-10 listed 2020-01-01 → 2020-01-01.. contradicted 02-10',
  'a census without the termination date leaves a termination on its receipt date or later':
    '01-05 listed 2020-01-01, 02-05 left 02-10, 02-10 listed 2020-01-01 → 2020-01-01..02-10',
  'a termination that is reported again applies again':
    '01-05 listed 2020-01-01..01-02, 02-10 listed 2020-01-01, 02-11 left 01-31 → 2020-01-01..01-31',
  'a repeated hire keeps the termination, also in a census without the employee':
    '01-05 hired 2020-01-01..01-02, 02-10 hired 2020-01-01, 02-11 absent → 2020-01-01..01-02',
};
assertRules(EMPLOYMENTS, ({ spells }) =>
  spells
    .map(({ hire_date, termination_date, contradicted_on }) => [
      `${hire_date ?? '?'}..${termination_date ?? ''}`,
      contradicted_on && `contradicted ${contradicted_on}`,
    ])
    .map((parts) => parts.filter(Boolean).join(' ').replaceAll('2026-', ''))
    .join(', '),
);

t.test('a hire or termination applies to days before its report', async (t) => {
  const employment = one(reports(['2026-06-28', hired('2026-05-26')], ['2026-07-10', left('2026-06-30')]));
  const on = (day: string) => [spellOn(employment, day) !== null, isActive(employment, day)];
  t.strictSame(on('2026-05-25'), [false, false]);
  t.strictSame(on('2026-05-26'), [true, true]);
  t.strictSame(on('2026-06-30'), [true, true]);
  t.strictSame(on('2026-07-01'), [true, false], 'the ended employment is still the last one');
});

t.test('an employee who is missing from a census is not active while it is in effect', async (t) => {
  const absences = ['2026-02-05', '2026-02-12'].map((day) => on(day, { absent: 1 }));
  const employment = one(reports(on('2026-01-05', listed('2020-01-01')), ...absences));
  t.equal(isActive(employment, '2026-02-04'), true);
  t.equal(isActive(employment, '2026-02-05'), false);
});

const DAY = '2026-03-15';
const at = (employer_id: string, changes: Given = {}): Given => ({
  ...listed('2020-01-01'),
  employer_id,
  ...changes,
});
const leaving = (employer: string, termination_date: string) => at(employer, { termination_date });
const LATER = at('b', { hire_date: '2026-04-01' });
const EMPLOYERS: Record<string, [employer: string | null, ...given: Given[]]> = {
  'without a report: no employer': [null],
  'with one employer: that employer': ['a', at('a')],
  'active with two employers: neither': [null, at('a'), at('b')],
  'after a move: the new employer': ['b', leaving('a', '2026-02-28'), at('b')],
  'before a move: the old employer': ['a', at('a'), LATER],
  'missing from the other census: this employer': ['b', at('b'), at('a'), { employer_id: 'a', absent: 1 }],
  'active nowhere: the employer left last': ['a', leaving('a', '2026-01-02'), leaving('b', '2026-01-01')],
  'between two employers: the employer that the employee left': ['a', leaving('a', '2026-03-10'), LATER],
  'left one employer and missing from the second census: the second employer': [
    'b',
    leaving('a', '2026-01-02'),
    at('b'),
    { employer_id: 'b', absent: 1 },
  ],
};
for (const [name, [employer, ...given]] of Object.entries(EMPLOYERS)) {
  t.test(`an employee ${name}`, async (t) => {
    const list = reports(...given.map((stated) => on('2026-01-05', stated)));
    t.equal(employerOf(employmentsOf(list), DAY), employer);
  });
}

t.test('the last of several absences decides which employer an employee left last', async (t) => {
  const missing = (employer_id: string): Given => ({ employer_id, absent: 1 });
  const list = reports(
    on('2026-01-05', at('a')),
    on('2026-01-06', at('b')),
    on('2026-02-05', missing('a')),
    on('2026-02-06', at('a')),
    on('2026-02-10', missing('b')),
    on('2026-02-12', missing('a')),
  );
  t.equal(employerOf(employmentsOf(list), DAY), 'a');
});

const DAYS = [1, 2, 3, 4, 5, 6, 7].map((day) => `2026-01-0${day}`);
const day = fc.constantFrom(...DAYS);
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(null), weight: 8 }, { arbitrary, weight: 1 });
const stated = fc.record({
  source: fc.constantFrom(
    ...'census census census census compensation-change new-hire termination'.split(' '),
  ),
  isListed: fc.constantFrom(true, true, false),
  hire_date: fc.constantFrom('2026-01-01', '2026-01-01', '2026-01-01', '2026-01-04'),
  termination_date: rarely(day),
  pay_frequency: fc.constantFrom('weekly', 'weekly', 'weekly', 'biweekly', null),
  effective_on: rarely(day),
  later: fc.constantFrom(0, 0, 1),
});

t.test('a census report that is not stored changes no value on any day, whatever follows', async (t) => {
  let left = 0;
  fc.assert(
    fc.property(fc.array(stated, { minLength: 4, maxLength: 14, size: 'max' }), (given) => {
      let received = 0;
      const all = reports(
        ...given.map(({ source, isListed, later, ...rest }): [string, Given] => {
          received = Math.min(received + later, DAYS.length - 1);
          const { hire_date, termination_date, pay_frequency, effective_on } = rest;
          const isHere = source === 'new-hire' || (source === 'census' && isListed);
          const fields: Given = { source: source as RosterFact['source'] };
          if (isHere) Object.assign(fields, { hire_date, absent: 0 });
          if (source === 'census' && !isListed) Object.assign(fields, { absent: 1 });
          if (isHere || source === 'termination') Object.assign(fields, { termination_date });
          if (source !== 'termination' && fields.absent !== 1) Object.assign(fields, { pay_frequency });
          return [DAYS[received] as string, { ...fields, effective_on }];
        }),
      );
      const stored: RosterFact[] = [];
      for (const report of all)
        if (report.source !== 'census' || !isRepeated(stored, report)) stored.push(report);
      left += all.length - stored.length;
      for (let count = 1; count <= all.length; count += 1) {
        const some = all.slice(0, count);
        const kept = stored.filter(({ position }) => position <= count);
        if (JSON.stringify(seen(some)) !== JSON.stringify(seen(kept)))
          throw new Error(JSON.stringify({ some, kept }));
      }
    }),
    { numRuns: 1_000 },
  );
  t.ok(left > 100, `${left} were not stored`);
});

/** Returns everything derived from the reports on one employment. */
function seen(list: readonly RosterFact[]): unknown {
  const employment = one(list);
  return [
    employment.spells,
    isAbsentNow(employment),
    ...['2025-12-31', ...DAYS, '2026-01-08'].map((on) => [
      valueOn(employment, 'pay_frequency', on),
      valueOn(employment, 'absent', on) === 1,
      isActive(employment, on),
      spellOn(employment, on),
    ]),
  ];
}
