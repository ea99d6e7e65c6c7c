/** The differences that an action made in the settings of an employer. */
import { isDeepStrictEqual } from 'node:util';
import Type, { type Static } from 'typebox';
import { component, nullable } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import type { FileFormat } from '../../formats/file-format.ts';
import type { AuditRecord } from '../../security/audit-list.ts';
import { yearOf } from '../calculation/pay-dates.ts';
import type { PayrollCode } from './codes.ts';
import { OPTIONS, type Options } from './policy.ts';
import { inYear, type Schedule, schedulesOfVersion } from './schedules.ts';

const Values = (description: string) => Type.Record(Type.String(), Type.Unknown(), { description });

export const SettingDifference = component(
  'SettingDifference',
  {
    of: Values(
      'What differs. `pay_frequency` and `pay_group` with a `pay_date`, or with a `year` that had no pay dates or lost them; ' +
        '`line_of_coverage`, `taxability` and `side` of a payroll code; `option` of the policy; the `header` of a column, `constant`, `left_out` rows or `part` of a file format; empty for second approval.',
    ),
    before: nullable(Values('The values before. Null if there were none.')),
    after: nullable(Values('The values after. Null if there are none.')),
  },
  'A difference between a version of a setting and the version before it.',
);
export type SettingDifference = Static<typeof SettingDifference>;

type Values = Record<string, unknown>;
type SettingRecord = Pick<AuditRecord, 'action' | 'employer_id' | 'details'>;

/** Returns the differences that an action made in stored settings; none for an action on anything else. */
export async function settingDifferences(
  db: Db,
  { action, employer_id, details }: SettingRecord,
): Promise<SettingDifference[]> {
  const { before, after } = details;
  switch (action) {
    case 'schedule.put':
    case 'schedule.delete': {
      const versions = [details.previous_version, details.version].map((version) =>
        typeof version === 'number' ? schedulesOfVersion(db, employer_id ?? '', version) : [],
      );
      const [earlier = [], later = []] = await Promise.all(versions);
      return differencesOfSchedules(earlier, later);
    }
    case 'codes.put':
      return differencesOf(codesIn(before), codesIn(after));
    case 'policy.put': {
      const [earlier, later] = [before, after] as [Partial<Options>, Partial<Options>];
      return OPTIONS.filter((option) => !isDeepStrictEqual(earlier[option], later[option])).map((option) => ({
        of: { option },
        before: { value: earlier[option] },
        after: { value: later[option] },
      }));
    }
    case 'file-format.put':
      return [
        ...differencesOf(formatIn(before), formatIn(after)),
        // The record does not have the organization, which names a person.
        ...(details.organization_changed === true
          ? [{ of: { part: 'organization' }, before: null, after: { value: 'changed' } }]
          : []),
      ];
    case 'approval-setting.put':
      return [{ of: {}, before: approvalIn(before), after: approvalIn(after) }];
    default:
      return [];
  }
}

type Entry = { of: Values; values: Values };

/** Compares lists whose entries are identified by what they are of. */
function differencesOf(before: readonly Entry[], after: readonly Entry[]): SettingDifference[] {
  const keyOf = ({ of }: Entry) => JSON.stringify(of);
  const [earlier, later] = [before, after].map((list) => new Map(list.map((entry) => [keyOf(entry), entry])));
  const keys = [...new Set([...before, ...after].map(keyOf))].sort();
  return keys.flatMap((key) => {
    const [was, is] = [earlier?.get(key), later?.get(key)];
    if (isDeepStrictEqual(was, is)) return [];
    return [{ of: (is ?? (was as Entry)).of, before: was?.values ?? null, after: is?.values ?? null }];
  });
}

function codesIn(codes: unknown): Entry[] {
  return (codes as PayrollCode[]).map(({ code, treatment, ...of }) => ({ of, values: { code, treatment } }));
}

function formatIn(format: unknown): Entry[] {
  if (format === null) return [];
  const { columns, constants, id_prefix, leave_out } = format as FileFormat;
  return [
    ...columns.map(({ header, ...values }) => ({ of: { header }, values })),
    ...Object.entries(constants).map(([constant, value]) => ({ of: { constant }, values: { value } })),
    ...leave_out.map(({ values, ...left_out }) => ({ of: { left_out }, values: { values } })),
    ...(id_prefix === null ? [] : [{ of: { part: 'id_prefix' }, values: { value: id_prefix } }]),
  ];
}

/** Names no person: the record has who acted. */
function approvalIn(setting: unknown): Values {
  const { required, requested_by } = setting as { required: boolean; requested_by: string | null };
  return { required, stop_requested: requested_by !== null };
}

/** Compares pay dates. A year that only one of the versions has is one difference. */
function differencesOfSchedules(
  before: readonly Schedule[],
  after: readonly Schedule[],
): SettingDifference[] {
  const dates = [...before, ...after].flatMap(({ pay_dates }) => pay_dates);
  const years = [...new Set(dates.map(({ pay_date }) => yearOf(pay_date)))].sort();
  return years.flatMap((year) => {
    const [earlier, later] = [inYear(before, year), inYear(after, year)];
    const isInBoth = ({ pay_frequency, pay_group }: Schedule) =>
      [earlier, later].every((list) =>
        list.some((other) => other.pay_frequency === pay_frequency && other.pay_group === pay_group),
      );
    const entriesOf = (schedule: Schedule) =>
      isInBoth(schedule) ? [...datesOf(schedule), markOf(schedule, year)] : [wholeYear(schedule, year)];
    return differencesOf(earlier.flatMap(entriesOf), later.flatMap(entriesOf));
  });
}

function datesOf({ pay_frequency, pay_group, pay_dates }: Schedule): Entry[] {
  return pay_dates.map(({ pay_date, ...values }) => ({ of: { pay_frequency, pay_group, pay_date }, values }));
}

function markOf({ pay_frequency, pay_group, year_in_fewer_checks }: Schedule, year: string): Entry {
  return { of: { pay_frequency, pay_group, year }, values: { year_in_fewer_checks } };
}

function wholeYear({ pay_frequency, pay_group, pay_dates, ...schedule }: Schedule, year: string): Entry {
  const [first, last] = [pay_dates.at(0)?.pay_date, pay_dates.at(-1)?.pay_date];
  const { year_in_fewer_checks } = schedule;
  const values = { pay_dates: pay_dates.length, first, last, year_in_fewer_checks };
  return { of: { pay_frequency, pay_group, year }, values };
}
