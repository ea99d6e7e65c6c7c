/** Tests what an employer sees if its employee has other employers too. */
import t from 'tap';
import type { RosterFact } from '../../src/ledger/employment.ts';
import { sightOf } from '../../src/ledger/visibility.ts';

type Report = [received: string, employer: string, stated: Partial<RosterFact>];

/** Returns reports of one employee. Reports of one day belong to one transaction. */
function reports(...given: Report[]): RosterFact[] {
  return given.map(([received, employer_id, stated], index) => ({
    ...{ employee_id: 'e', employer_id, position: index + 1, source: 'new-hire', source_id: `c-${index}` },
    ...{ hire_date: null, termination_date: null, employment_status: null, pay_frequency: null },
    ...{ pay_group: null, absent: null, effective_on: null, recorded_at: `${received}T09:00:00.000Z` },
    ...stated,
  }));
}

const hired = (hire_date: string) => ({ hire_date });
const left = (termination_date: string) => ({ termination_date });

const sight = (given: RosterFact[], employer: string, today: string) => sightOf(given, [employer], today);
const versionOn = (day: string, position: number) => ({ position, recorded_at: `${day}T10:00:00.000Z` });

t.test('an employee belongs to the employer of a hire to come, not to the one left before', async (t) => {
  const moving = reports(
    ['2026-06-01', 'a', hired('2020-01-01')],
    ['2026-07-01', 'a', left('2026-06-30')],
    ['2026-07-01', 'b', hired('2026-08-01')],
  );
  t.equal(sight(moving, 'b', '2026-07-15')?.isCurrent, true);
  t.equal(sight(moving, 'a', '2026-07-15')?.isCurrent, false);
});

t.test('an employer that is first reported together with the move has seen nothing', async (t) => {
  const late = reports(
    ['2026-07-05', 'a', hired('2026-06-01')],
    ['2026-07-05', 'a', left('2026-06-30')],
    ['2026-07-05', 'b', hired('2026-07-01')],
  );
  t.equal(sight(late, 'a', '2026-07-10')?.sees(versionOn('2026-07-01', 0)), false);
});

t.test('a census that will lack an employee ends what the employer sees the day before', async (t) => {
  const leaving = reports(
    ['2026-06-01', 'a', { ...hired('2020-01-01'), source: 'census', absent: 0 }],
    ['2026-07-10', 'a', { source: 'census', absent: 1, effective_on: '2026-08-01' }],
    ['2026-07-10', 'b', hired('2026-07-10')],
  );
  const seen = sight(leaving, 'a', '2026-08-15');
  t.equal(seen?.sees(versionOn('2026-07-31', 9)), true);
  t.equal(seen?.sees(versionOn('2026-08-01', 9)), false);
});

t.test('the report of a move is not seen by the employer left', async (t) => {
  const moved = reports(
    ['2026-06-01', 'a', hired('2020-01-01')],
    ['2026-07-10', 'b', { ...hired('2026-07-10') }],
    ['2026-07-10', 'a', left('2026-07-09')],
  );
  const seen = sight(moved, 'a', '2026-08-15');
  t.equal(seen?.sees({ recorded_at: '2026-07-10T08:59:59.000Z' }), true);
  t.equal(seen?.sees({ recorded_at: '2026-07-10T09:00:00.000Z' }), false);
});
