/** Tests whom a token limited to an employer may name, if the employee has other employers too. */
import t from 'tap';
import type { RosterFact } from '../../src/ledger/employment.ts';
import { belongsTo, isElsewhere } from '../../src/ledger/visibility.ts';

type Report = [employer: string, stated: Partial<RosterFact>];

/** Returns reports of one employee on May 1, in order. */
function reports(...given: Report[]): RosterFact[] {
  return given.map(([employer_id, stated], index) => ({
    ...{ employee_id: 'e', employer_id, position: index + 1, source: 'new-hire', source_id: `c-${index}` },
    ...{ hire_date: null, termination_date: null, employment_status: null, pay_frequency: null },
    ...{ pay_group: null, absent: null, effective_on: null, recorded_at: '2026-05-01T09:00:00.000Z' },
    received_on: '2026-05-01',
    ...stated,
  }));
}

const TODAY = '2026-07-01';
const hired = (hire_date: string) => ({ hire_date });
const left = (termination_date: string) => ({ termination_date });
const listed = (absent: 0 | 1, effective_on: string | null = null) =>
  ({ source: 'census', absent, effective_on }) as const;
const AT_A = hired('2020-01-01');

/** The reports, whether a token of `b` may name the employee at `b`, and whether it may report changes. */
const CASES: [rule: string, known: Report[], mayName: boolean, mayReport: boolean][] = [
  ['no report names the employee', [], true, false],
  ['active at another employer', [['a', AT_A]], false, false],
  ['hired by another employer later', [['a', hired('2026-12-01')]], false, false],
  [
    'left the other employer',
    [
      ['a', AT_A],
      ['a', left('2026-06-30')],
    ],
    true,
    false,
  ],
  [
    'leaves the other employer later',
    [
      ['a', AT_A],
      ['a', left('2026-07-31')],
    ],
    false,
    false,
  ],
  [
    'left both, and the other employer later',
    [
      ['b', AT_A],
      ['b', left('2021-01-31')],
      ['a', AT_A],
      ['a', left('2026-06-30')],
    ],
    true,
    false,
  ],
  [
    'hired again by the other employer',
    [
      ['a', AT_A],
      ['a', left('2025-06-30')],
      ['a', hired('2026-06-01')],
    ],
    false,
    false,
  ],
  [
    'hired again by the other employer, who keeps the first hire date',
    [
      ['a', AT_A],
      ['a', left('2025-06-30')],
      ['a', { ...listed(0), hire_date: '2020-01-01' }],
    ],
    false,
    false,
  ],
  [
    'absent from the census of the other employer',
    [
      ['a', { ...AT_A, ...listed(0) }],
      ['a', listed(1)],
    ],
    true,
    false,
  ],
  [
    'in a census of the other employer that counts later',
    [
      ['a', { ...AT_A, ...listed(1) }],
      ['a', listed(0, '2026-08-01')],
    ],
    false,
    false,
  ],
  [
    'active at both',
    [
      ['a', AT_A],
      ['b', hired('2026-05-01')],
    ],
    true,
    true,
  ],
  [
    'active at the other and hired later here',
    [
      ['a', AT_A],
      ['b', hired('2026-08-01')],
    ],
    true,
    true,
  ],
  [
    'left here, active at the other employer',
    [
      ['b', AT_A],
      ['b', left('2026-05-31')],
      ['a', hired('2026-06-01')],
    ],
    false,
    false,
  ],
  [
    'left here, for no other employer',
    [
      ['b', AT_A],
      ['b', left('2026-05-31')],
    ],
    true,
    true,
  ],
];

t.test(
  'a token may name an employee who is active at its employer, or at none that it does not see',
  async (t) => {
    const viewer = { employers: ['b'], today: TODAY };
    for (const [rule, known, mayName, mayReport] of CASES) {
      t.equal(!isElsewhere(reports(...known), 'b', viewer), mayName, `name: ${rule}`);
      t.equal(belongsTo(reports(...known), viewer), mayReport, `report: ${rule}`);
      t.equal(
        isElsewhere(reports(...known), 'b', { ...viewer, employers: ['a', 'b'] }),
        false,
        `sees both: ${rule}`,
      );
    }
  },
);
