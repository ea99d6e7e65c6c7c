import t from 'tap';
import {
  type Employment,
  employerOf,
  employmentsOf,
  isAbsentNow,
  isActive,
  isRepeated,
  type RosterFact,
  type Spell,
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
    source: 'census',
    source_id: 'census-1',
    recorded_at: `${received}T09:00:00.000Z`,
    ...stated,
  }));
}

const one = (list: readonly RosterFact[]) => employmentsOf(list)[0] as Employment;

const paid = (pay_frequency: string, changes: Given = {}): Given => ({ pay_frequency, ...changes });
const changed = (pay_frequency: string, effective_on: string | null = null): Given =>
  paid(pay_frequency, { source: 'compensation-change', effective_on });

/** In the last place, the value that is in effect on days. */
const inForce: [rule: string, given: Report[], expected: string[]][] = [
  ['without a fact nothing is in effect', [on('2026-01-05', {})], ['2026-02-01 null']],
  [
    'a fact is in effect from its receipt, and the first one also before it',
    [on('2026-01-05', paid('weekly')), on('2026-03-05', changed('monthly'))],
    ['2020-01-01 weekly', '2026-03-04 weekly', '2026-03-05 monthly'],
  ],
  [
    'a fact with a future effective date does not change the days before it',
    [on('2026-01-05', paid('weekly')), on('2026-07-06', changed('biweekly', '2026-08-03'))],
    ['2026-08-02 weekly', '2026-08-03 biweekly'],
  ],
  [
    'a census between a report and its effective date does not undo it',
    [
      on('2026-01-05', paid('weekly')),
      on('2026-07-06', changed('biweekly', '2026-08-03')),
      on('2026-07-10', paid('weekly')),
    ],
    ['2026-08-02 weekly', '2026-08-03 biweekly'],
  ],
  [
    'a census after the effective date undoes it',
    [on('2026-07-06', changed('biweekly', '2026-08-03')), on('2026-08-10', paid('weekly'))],
    ['2026-08-09 biweekly', '2026-08-10 weekly'],
  ],
  [
    'a fact with a past effective date applies from that date',
    [
      on('2026-01-05', paid('weekly')),
      on('2026-02-01', paid('monthly')),
      on('2026-07-06', changed('biweekly', '2026-03-01')),
    ],
    ['2026-01-31 weekly', '2026-02-15 monthly', '2026-03-01 biweekly'],
  ],
  [
    'if two facts have the same date the later position applies',
    [on('2026-01-05', changed('weekly')), on('2026-01-05', changed('monthly'))],
    ['2026-01-05 monthly'],
  ],
  [
    'a report without an attribute does not erase it',
    [on('2026-01-05', paid('weekly')), on('2026-02-05', { pay_group: 'north' })],
    ['2026-03-01 weekly'],
  ],
  [
    'one wrong census between two correct ones never applies',
    [on('2026-01-05', paid('weekly')), on('2026-02-05', paid('monthly')), on('2026-03-05', paid('weekly'))],
    ['2026-02-10 weekly', '2026-03-10 weekly'],
  ],
  [
    'a value in two censuses applies',
    [
      on('2026-01-05', paid('weekly')),
      on('2026-02-05', paid('monthly')),
      on('2026-02-12', paid('monthly')),
      on('2026-03-05', paid('weekly')),
    ],
    ['2026-02-05 monthly', '2026-03-05 weekly'],
  ],
  [
    'a value from an employment change between two censuses applies',
    [
      on('2026-01-05', paid('weekly')),
      on('2026-02-05', changed('monthly')),
      on('2026-03-05', paid('weekly')),
    ],
    ['2026-02-10 monthly'],
  ],
  [
    'a census value with an effective date applies',
    [
      on('2026-01-05', paid('weekly')),
      on('2026-02-05', paid('monthly', { effective_on: '2026-02-01' })),
      on('2026-03-05', paid('weekly')),
    ],
    ['2026-02-03 monthly'],
  ],
];
for (const [rule, given, expected] of inForce) {
  t.test(rule, async (t) => {
    const employment = one(reports(...given));
    const valueIn = (day: string) => valueOn(employment, 'pay_frequency', day);
    t.strictSame(
      expected.map((line) => line.slice(0, 10)).map((day) => `${day} ${valueIn(day)}`),
      expected,
    );
  });
}

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

const listed = (hire_date: string | null, termination_date: string | null = null): Given => ({
  hire_date,
  termination_date,
  absent: 0,
});
const hired = (hire_date: string, termination_date: string | null = null): Given => ({
  ...listed(hire_date, termination_date),
  source: 'new-hire',
});
const left = (termination_date: string): Given => ({ termination_date, source: 'termination' });

const spell = (
  hire_date: string | null,
  termination_date: string | null,
  contradicted_on = null as string | null,
): Spell => ({ hire_date, termination_date, contradicted_on });

const spells: [rule: string, given: Report[], expected: Spell[]][] = [
  [
    'a census or a hire begins the first employment',
    [on('2026-01-05', listed('2020-01-01'))],
    [spell('2020-01-01', null)],
  ],
  ['a hire date may be unknown', [on('2026-01-05', listed(null))], [spell(null, null)]],
  [
    'a later hire date corrects the hire date of the employment',
    [on('2026-01-05', hired('2026-01-01')), on('2026-02-05', listed('2025-12-15'))],
    [spell('2025-12-15', null)],
  ],
  [
    'a hire after a termination begins a new employment',
    [on('2026-01-05', listed('2020-01-01', '2025-03-31')), on('2026-05-05', hired('2026-05-04'))],
    [spell('2020-01-01', '2025-03-31'), spell('2026-05-04', null)],
  ],
  [
    'a hire on or before the day of the termination does not begin an employment',
    [on('2026-01-05', listed('2020-01-01', '2026-12-31')), on('2026-05-05', hired('2026-12-31'))],
    [spell('2026-12-31', '2026-12-31')],
  ],
  [
    'the original hire date of a rehired employee changes no employment',
    [
      on('2026-01-05', listed('2020-01-01', '2025-03-31')),
      on('2026-05-05', hired('2026-05-04')),
      on('2026-06-05', listed('2020-01-01')),
    ],
    [spell('2020-01-01', '2025-03-31'), spell('2026-05-04', null)],
  ],
  [
    'a changed original hire date corrects the earlier employment of a rehired employee',
    [
      on('2026-01-05', listed('2020-01-01', '2025-03-31')),
      on('2026-05-05', hired('2026-05-04')),
      on('2026-06-05', listed('2020-03-01')),
    ],
    [spell('2020-03-01', '2025-03-31'), spell('2026-05-04', null)],
  ],
  [
    'a report with a hire and an earlier termination describes two employments',
    [on('2026-01-05', listed('2026-01-02', '2025-06-30'))],
    [spell(null, '2025-06-30'), spell('2026-01-02', null)],
  ],
  [
    'a termination ends the latest employment that has begun',
    [
      on('2026-01-05', listed('2020-01-01', '2025-03-31')),
      on('2026-05-05', hired('2026-05-04')),
      on('2026-05-06', left('2025-04-30')),
      on('2026-05-07', left('2026-08-31')),
    ],
    [spell('2020-01-01', '2025-04-30'), spell('2026-05-04', '2026-08-31')],
  ],
  [
    'a termination before every hire ends an earlier employment',
    [
      on('2026-05-05', hired('2026-05-04')),
      on('2026-05-06', left('2026-03-31')),
      on('2026-05-07', left('2026-04-15')),
    ],
    [spell(null, '2026-04-15'), spell('2026-05-04', null)],
  ],
  [
    'the latest report of a termination applies',
    [
      on('2026-01-05', listed('2020-01-01')),
      on('2026-02-05', left('2026-02-28')),
      on('2026-02-06', left('2026-01-31')),
    ],
    [spell('2020-01-01', '2026-01-31')],
  ],
  [
    'a census without the termination date cancels a termination before its receipt date',
    [
      on('2026-01-05', listed('2020-01-01')),
      on('2026-02-05', left('2026-01-31')),
      on('2026-02-10', listed('2020-01-01')),
    ],
    [spell('2020-01-01', null, '2026-02-10')],
  ],
  [
    'a census without the termination date leaves a termination on its receipt date or later',
    [
      on('2026-01-05', listed('2020-01-01')),
      on('2026-02-05', left('2026-02-10')),
      on('2026-02-10', listed('2020-01-01')),
    ],
    [spell('2020-01-01', '2026-02-10')],
  ],
  [
    'a termination that is reported again applies again',
    [
      on('2026-01-05', listed('2020-01-01', '2026-01-02')),
      on('2026-02-10', listed('2020-01-01')),
      on('2026-02-11', left('2026-01-31')),
    ],
    [spell('2020-01-01', '2026-01-31')],
  ],
  [
    'a repeated hire keeps the termination, also in a census without the employee',
    [
      on('2026-01-05', hired('2020-01-01', '2026-01-02')),
      on('2026-02-10', hired('2020-01-01')),
      on('2026-02-11', { absent: 1 }),
    ],
    [spell('2020-01-01', '2026-01-02')],
  ],
];
for (const [rule, given, expected] of spells) {
  t.test(rule, async (t) => {
    t.strictSame(one(reports(...given)).spells, expected);
  });
}

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
const employers: [string, Given[], string | null][] = [
  ['without a report: no employer', [], null],
  ['with one employer: that employer', [at('a')], 'a'],
  ['active with two employers: neither', [at('a'), at('b')], null],
  ['after a move: the new employer', [at('a', { termination_date: '2026-02-28' }), at('b')], 'b'],
  ['before a move: the old employer', [at('a'), at('b', { hire_date: '2026-04-01' })], 'a'],
  ['missing from the other census: this employer', [at('b'), at('a'), { employer_id: 'a', absent: 1 }], 'b'],
  [
    'active nowhere: the employer left last',
    [at('a', { termination_date: '2026-01-02' }), at('b', { termination_date: '2026-01-01' })],
    'a',
  ],
  [
    'between two employers: the employer that the employee left',
    [at('a', { termination_date: '2026-03-10' }), at('b', { hire_date: '2026-04-01' })],
    'a',
  ],
  [
    'left one employer and missing from the second census: the second employer',
    [at('a', { termination_date: '2026-01-02' }), at('b'), { employer_id: 'b', absent: 1 }],
    'b',
  ],
];
for (const [name, given, employer] of employers) {
  t.test(`an employee ${name}`, async (t) => {
    const list = reports(...given.map((stated) => on('2026-01-05', stated)));
    t.equal(employerOf(employmentsOf(list), DAY), employer);
  });
}

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
    { numRuns: 3_000 },
  );
  t.ok(left > 300, `${left} were not stored`);
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
