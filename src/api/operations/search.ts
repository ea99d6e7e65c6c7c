/** One search for everything that a person may know by a name or an id. */
import Type, { type Static, type TSchema } from 'typebox';
import { employersWithCensus, legalNames } from '../../census/staged.ts';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { eventsStartingWith } from '../../inbox/events.ts';
import { deductionsStartingWith, hasDeductions } from '../../ledger/deductions.ts';
import { employeesStartingWith, employersInRoster } from '../../ledger/roster.ts';
import { folded } from '../../names/fold.ts';
import { namesOf } from '../../names/names.ts';
import { createNameIndex } from '../../names/search.ts';
import { runsStartingWith } from '../../payroll/records/runs.ts';
import { schedulesByEmployer } from '../../payroll/settings/all-employers.ts';
import { recordDaily } from '../../security/daily-records.ts';
import { actingIn, mayAlso } from '../auth.ts';
import { assertKnownFilter, employersFiltered, employersOf, viewerOf } from '../employers.ts';
import { oncePer } from '../once-per.ts';
import { type Call, operation, type Parts } from '../operation.ts';

/** Rows of each group: a person sees them at a glance, and types one more letter for others. */
export const FOUND_MAX = 8;
const TEXT_MAX_CHARACTERS = 100;

const groupOf = <S extends TSchema>(row: S, description: string) =>
  field.closed(
    { data: Type.Array(row, { maxItems: FOUND_MAX }), has_more: field.boolean('Whether more match.') },
    description,
  );

const Found = field.component(
  'SearchResult',
  {
    employees: groupOf(
      field.closed({
        employee_id: field.text('The employee.'),
        employer_id: field.nullableText(
          'The employer that reported the name or the employment. Null if none did, and only deductions name the employee.',
        ),
        first_name: field.nullableText('The first name. Null if unknown, or without the scope `names:read`.'),
        last_name: field.nullableText('The last name. Null like the first name.'),
      }),
      'Employees by the words of their names, or by ID. Requires `ledger:read`.',
    ),
    employers: groupOf(
      field.closed({
        employer_id: field.text('The employer.'),
        legal_name: field.nullableText(
          'The legal name in the staged census. Null like the names of employees.',
        ),
      }),
      'Employers by the words of their legal names, or by ID. Requires `runs:read`.',
    ),
    deductions: groupOf(
      field.closed({ id: field.text('The deduction.'), employee_id: field.text('The employee.') }),
      'Deductions by ID. Requires `ledger:read`.',
    ),
    runs: groupOf(
      field.closed({
        id: field.text('The payroll run.'),
        employer_id: field.text('The employer.'),
        pay_date: field.text('The pay date.'),
      }),
      'Payroll runs by ID or pay date, the latest first. Requires `runs:read`.',
    ),
    events: groupOf(
      field.closed({ id: field.text('The event.'), received_at: field.text('The time of receipt.') }),
      'Events by ID. Requires `events:read`, and a token that is not limited to employers.',
    ),
  },
  'What a text matches. A group is empty for a token that may not read it.',
);
type Groups = Static<typeof Found>;
type Group = keyof Groups;

const indexOf = oncePer(createNameIndex);

export const search = operation({
  id: 'search',
  method: 'POST',
  path: '/v1/search',
  scope: 'any',
  employers: 'list',
  action: 'name.show',
  isForConsole: true,
  isLookUp: true,
  summary: 'Search by name or ID',
  description:
    'Finds employees and employers by the beginnings of the words of their names, without regard to case and accents, and ' +
    'employees, employers, deductions, payroll runs and events by the beginning of their IDs. Names require `names:read`. One audit ' +
    'record for each caller, employer and day says that names of employees were shown.',
  body: field.component(
    'SearchRequest',
    {
      text: Type.String({
        pattern: '\\S',
        maxLength: TEXT_MAX_CHARACTERS,
        rule: `must be a text of 1 to ${TEXT_MAX_CHARACTERS} characters`,
        description: 'The beginning of a name or an ID.',
      }),
      employer_id: Type.Optional(field.text('Finds employees of this employer only, and nothing else.')),
    },
    'What to find.',
  ),
  response: { 200: Found },
  async run(call, parts): Promise<Groups> {
    const text = call.body.text.trim();
    const may = (scope: Parameters<typeof mayAlso>[1]) => mayAlso(call.caller, scope);
    const isLimited = employersOf(call) !== null;
    const within = call.body.employer_id;
    await assertKnownFilter(call, parts, within);
    const employees = may('ledger:read') ? await employeesFor(call, parts, text) : [];
    const named = employees.filter(({ last_name }) => last_name !== null).slice(0, FOUND_MAX);
    const namedBy = [...new Set(named.flatMap(({ employer_id }) => employer_id ?? []))];
    await recordDaily(parts.db, actingIn(call, parts.now()), 'name.show', namedBy);
    if (within !== undefined)
      return { employees: group(employees), employers: NONE, deductions: NONE, runs: NONE, events: NONE };
    return {
      employees: group(employees),
      employers: group(may('runs:read') ? await employersFor(call, parts, text) : []),
      deductions: group(may('ledger:read') ? await deductionsFor(call, parts, text) : []),
      runs: group(may('runs:read') ? await runsFor(call, parts, text) : []),
      events: group(may('events:read') && !isLimited ? await eventsFor(parts, text) : []),
    };
  },
});

type SearchCall = Call & { readonly body: { readonly employer_id?: string } };
type RowIn<G extends Group> = Groups[G]['data'][number];

/** One more than a group shows is whether there are more. */
const READ = FOUND_MAX + 1;

function group<Row>(rows: Row[]) {
  return { data: rows.slice(0, FOUND_MAX), has_more: rows.length > FOUND_MAX };
}

const NONE = group<never>([]);

/** Ids are compared byte by byte: as typed, in lower case and in upper case. */
function casesOf(text: string): string[] {
  return [...new Set([text, text.toLowerCase(), text.toUpperCase()])];
}

async function employeesFor(call: SearchCall, parts: Parts, text: string): Promise<RowIn<'employees'>[]> {
  const { db } = parts;
  const employers = employersFiltered(call, call.body.employer_id);
  const maySeeNames = mayAlso(call.caller, 'names:read');
  const named = maySeeNames ? await indexOf(db).find(parts.encryptor, text, employers, READ) : [];
  const known = await employeesStartingWith(db, casesOf(text), employers, READ);
  const strangers = employers === null ? await strangersOf(db, text) : [];
  const keys = new Map<string, Pick<RowIn<'employees'>, 'employee_id' | 'employer_id'>>(
    [...strangers, ...known, ...named].map((key) => [key.employee_id, key]),
  );
  const names = maySeeNames ? await namesOf(db, parts.encryptor, [...keys.keys()], employers) : [];
  const nameOf = new Map(names.map((name) => [name.employee_id, name]));
  // An employee of two employers appears with the employer whose name is shown.
  const rows = [...keys.values()].map(({ employee_id, employer_id }) => {
    const unnamed = { employee_id, employer_id, first_name: null, last_name: null };
    return nameOf.get(employee_id) ?? unnamed;
  });
  const orderOf = ({ first_name, last_name, employee_id }: RowIn<'employees'>) =>
    [last_name === null ? '\u{10ffff}' : folded(last_name), folded(first_name ?? ''), employee_id].join('\t');
  // Whole words were found first, and stay among the rows that are shown.
  const place = new Map(named.map(({ employee_id }, index) => [employee_id, index]));
  const placeOf = ({ employee_id }: RowIn<'employees'>) => place.get(employee_id) ?? READ;
  const ranked = rows.toSorted((left, right) => placeOf(left) - placeOf(right));
  const shown = ranked
    .slice(0, FOUND_MAX)
    .toSorted((left, right) => (orderOf(left) < orderOf(right) ? -1 : 1));
  return [...shown, ...ranked.slice(FOUND_MAX)];
}

/** Returns the employees whom deductions name by this ID. Employers may not have reported them. */
async function strangersOf(db: Parts['db'], text: string) {
  const strangers = [];
  for (const employee_id of casesOf(text))
    if (await hasDeductions(db, employee_id)) strangers.push({ employee_id, employer_id: null });
  return strangers;
}

async function employersFor(call: Call, { db, encryptor }: Parts, text: string) {
  const employers = employersOf(call);
  const ids = new Set([
    ...(await employersWithCensus(db, employers)),
    ...(await employersInRoster(db, employers)),
    ...(await schedulesByEmployer(db, employers)).keys(),
  ]);
  const maySeeNames = mayAlso(call.caller, 'names:read');
  const names = maySeeNames ? await legalNames(db, encryptor, employers) : new Map<string, string>();
  const words = folded(text).split(' ').filter(Boolean);
  const matches = (employer_id: string) => {
    const name = ` ${folded(names.get(employer_id) ?? '')}`;
    const isNamed = words.length > 0 && words.every((word) => name.includes(` ${word}`));
    return isNamed || employer_id.toLowerCase().startsWith(text.toLowerCase());
  };
  const matching = [...ids].filter(matches).toSorted().slice(0, READ);
  return matching.map((employer_id) => ({ employer_id, legal_name: names.get(employer_id) ?? null }));
}

async function deductionsFor(call: Call, parts: Parts, text: string) {
  const today = dayAt(parts.db, parts.now());
  const page = { viewer: viewerOf(call, parts), today, limit: READ };
  const states = await deductionsStartingWith(parts.db, casesOf(text), page);
  return states.map(({ version }) => ({ id: version.deduction_id, employee_id: version.employee_id }));
}

async function runsFor(call: Call, { db }: Parts, text: string) {
  const page = { employers: employersOf(call), limit: READ };
  const runs = await runsStartingWith(db, casesOf(text), page);
  return runs.map(({ run_id: id, employer_id, pay_date }) => ({ id, employer_id, pay_date }));
}

async function eventsFor({ db }: Parts, text: string) {
  const events = await eventsStartingWith(db, casesOf(text), READ);
  return events.map(({ event_id: id, received_at }) => ({ id, received_at }));
}
