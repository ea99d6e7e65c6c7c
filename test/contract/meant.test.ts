import t from 'tap';
import Type from 'typebox';
import { compile, describe } from '../../src/contract/check.ts';
import { PAY_FREQUENCIES, US_STATES } from '../../src/contract/employee.ts';
import { day } from '../../src/contract/fields.ts';
import * as meant from '../../src/contract/meant.ts';

type Table = readonly (readonly [written: string, value: string | null])[];

const DATES: Table = [
  ['1980-04-05', '1980-04-05'],
  // Two meanings are month first; one meaning is that.
  ['4/5/1980', '1980-04-05'],
  ['04-05-1980', '1980-04-05'],
  ['4.5.1980', '1980-04-05'],
  ['31/12/2020', '2020-12-31'],
  ['2020/2/3', '2020-02-03'],
  // Two digits of a year are 1980 to 2079.
  ['1/1/26', '2026-01-01'],
  ['1/1/79', '2079-01-01'],
  ['05-Apr-80', '1980-04-05'],
  ['5 April 1980', '1980-04-05'],
  ['April 5, 1980', '1980-04-05'],
  ['Sept. 5th, 1980', '1980-09-05'],
  ['Apr-05-1980', '1980-04-05'],
  ['19800405', '1980-04-05'],
  ['04051980', '1980-04-05'],
  ['29316', '1980-04-05'],
  ['29316.0', '1980-04-05'],
  ...['5/Apr/1980', '5.Apr.1980', '05Apr1980', '1980-Apr-05', '1980 April 5', 'Saturday, April 5, 1980'].map(
    (text) => [text, '1980-04-05'] as const,
  ),
  // Marks of a text, dashes, wide digits and characters without width.
  ...[
    "'1980-04-05",
    '="4/5/1980"',
    '1980–04–05',
    '1980\u201104\u201105',
    '\u200e4/5/1980',
    '４/5/1980',
    '4 / 5 / 1980',
  ].map((text) => [text, '1980-04-05'] as const),
  ['2020-02-03T00:00:00', '2020-02-03'],
  ['2/3/2020 0:00', '2020-02-03'],
  ['2/3/2020 12:00:00 AM', '2020-02-03'],
  ...['2/30/2020', '13/13/2020', '4/5', '4/5/198', '2020-02-03T07:00:00Z'].map(
    (text) => [text, null] as const,
  ),
  ...['Aprilis 5, 1980', 'unknown', '', '123', '99999999', '4/5-1980'].map((text) => [text, null] as const),
];

const AMOUNTS: Table = [
  ['$52,000', '52000'],
  ['$1,350.00', '1350.00'],
  ['USD 12.5', '12.5'],
  ['12.5 USD', '12.5'],
  ['(25.00)', '-25.00'],
  ['($1,025.00)', '-1025.00'],
  ['-$25', '-25'],
  ['$-25', '-25'],
  ['25.00-', '-25.00'],
  ['+5', '5'],
  ['.50', '0.50'],
  ['5.', '5'],
  ['52000.000', '52000.00'],
  ['52000.005', '52000.005'],
  ['(0.00)', '0.00'],
  [' $ (1,025.00)', '-1025.00'],
  ['$(25.00)', '-25.00'],
  [' $-   ', '0.00'],
  // A dash instead of cents is no sign.
  ...['52000.-', '52000,-', '52000.--', '52000.–', '$52,000.-', "52'000.-", '52000.- USD'].map(
    (text) => [text, '52000.00'] as const,
  ),
  ['-52000.-', '-52000.00'],
  ['(52000,-)', '-52000.00'],
  ["1'350.50", '1350.50'],
  ['1’350’000', '1350000'],
  ["'1350.00", '1350.00'],
  ['0.500', '0.50'],
  ['1,350.500', '1350.50'],
  // Thousands, or three decimals.
  ...['1.000', '$52.000', '-1.350', '999.005', '1.000,-', '1.000.-'].map((text) => [text, null] as const),
  ...[
    '',
    '$',
    '()',
    '$()',
    '$(-5)',
    '-',
    '1,35',
    '1.234,56',
    '1e3',
    '5%',
    '12,34,567',
    "1'35",
    "1'350,000",
    '.-',
    '--5',
    'ten',
  ].map((text) => [text, null] as const),
];

const PHONES: Table = [
  ['(617) 555-0123', '6175550123'],
  ['617-555-0123', '6175550123'],
  ['617.555.0123', '6175550123'],
  ['+1 617 555 0123', '6175550123'],
  ['16175550123', '6175550123'],
  ['617–555\u20110123', '6175550123'],
  ['617-555-0123 x45', '6175550123'],
  ['617-555-0123 ext. 45', '6175550123'],
  ...['555-0123', '+44 20 7946 0958', '6175550123 or 6175550124', 'none'].map(
    (text) => [text, null] as const,
  ),
];

const ZIPS: Table = [
  ['2108', '02108'],
  ['601', '00601'],
  ['02108-1234', '02108-1234'],
  ['2108-1234', '02108-1234'],
  ['021081234', '02108-1234'],
  ['21081234', '02108-1234'],
  ...['21', 'ABC', '021081', ''].map((text) => [text, null] as const),
];

const CHOICES: readonly (readonly [values: readonly string[], table: Table])[] = [
  [
    ['full_time', 'part_time'],
    [
      ...['FT', 'F/T', 'Full Time', 'full-time', 'F', 'Regular FT', 'Full-Time Non-Exempt'].map(
        (text) => [text, 'full_time'] as const,
      ),
      ['Temp', null],
      ['Regular', null],
    ],
  ],
  [
    ['annually', 'hourly'],
    [
      ...['Salaried Exempt', 'Salary/Eligible for overtime'].map((text) => [text, 'annually'] as const),
      ['Hourly Non-exempt', 'hourly'],
      ['Exempt', null],
    ],
  ],
  [
    PAY_FREQUENCIES,
    [
      ...['Bi-Weekly', 'BW', '26', 'every two weeks'].map((text) => [text, 'biweekly'] as const),
      ...([
        ['Semi-Monthly', 'semimonthly'],
        ['M', 'monthly'],
        ['quarterly', null],
        ['', null],
      ] as const),
    ],
  ],
  [
    ['male', 'female'],
    [
      ['F', 'female'],
      ['M', 'male'],
      ['Male', 'male'],
      ['X', null],
    ],
  ],
  [
    ['life', 'medical', 'dental'],
    [
      ['Medical (PPO)', 'medical'],
      ['Life (Spouse)', null],
      ['Dental (ER)', null],
    ],
  ],
  [
    ['healthcare_fsa', 'dependent_care_fsa'],
    [
      ['HCFSA', 'healthcare_fsa'],
      ['Dep. Care FSA', 'dependent_care_fsa'],
      ['FSA', null],
    ],
  ],
  [
    ['pre_tax', 'post_tax'],
    [
      ['Pre-Tax', 'pre_tax'],
      ['After tax', 'post_tax'],
    ],
  ],
  [
    US_STATES,
    [
      ['tx', 'TX'],
      ['Texas', 'TX'],
      ['new york', 'NY'],
      ['D.C.', 'DC'],
      ['PR', null],
      ['AE', null],
      ['Virginia', 'VA'],
    ],
  ],
];

t.test('a value as people write it is read as what it means, or as nothing', (t) => {
  const tables: [(text: string) => string | null, Table][] = [
    [meant.meantDate, DATES],
    [meant.meantAmount, AMOUNTS],
    [meant.meantPhone, PHONES],
    [meant.meantZip, ZIPS],
    ...CHOICES.map(([values, table]): [(text: string) => string | null, Table] => [
      (text) => meant.meantChoice(values, text),
      table,
    ]),
  ];
  for (const [read, table] of tables)
    for (const [written, value] of table) t.equal(read(written), value, JSON.stringify(written));
  t.end();
});

t.test('only a caller who asks for hints is shown what a refused value means', (t) => {
  const { problems } = compile(Type.Object({ dob: day }));
  const rule = 'must be a real date, YYYY-MM-DD';
  const value = { dob: '4/5/1980' };
  t.strictSame(problems(value), [{ path: 'dob', rule }]);
  const [hinted] = problems(value, 1, 'hints');
  t.equal(hinted && describe(hinted), `dob: ${rule}; did you mean 1980-04-05?`);
  t.strictSame(problems({ dob: 'x' }, 1, 'hints'), [{ path: 'dob', rule }]);
  t.end();
});
