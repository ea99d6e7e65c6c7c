/** Edits one pay schedule of an employer. */
import { Temporal } from 'temporal-polyfill';
import { listPayFrequencies, putPayScheduleOfYear } from '../../../api/operations/payroll-settings.ts';
import { DATES_MAX } from '../../../formats/pay-date-proposal.ts';
import {
  changesOf,
  commandOf,
  type Edited,
  editor,
  hashOf,
  placeOfRow,
  type RowList,
} from '../../elements/editor.ts';
import { choicesOf, field, type Place, problemIn } from '../../elements/fields.ts';
import { counted } from '../../elements/format.ts';
import { address, nameIn } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';
import type { Act, Console, Done } from '../../page.ts';
import { type Api, attempt } from '../../performing.ts';
import { FREQUENCIES } from '../runs/labels.ts';
import * as settings from './overview.ts';
import { generatedFrom, generator, placeInRule } from './pay-dates.ts';

const SCHEDULE: RowList = {
  id: 'schedule',
  path: '/settings/pay-schedule',
  rows: 'pay dates',
  what: 'pay schedule',
  explanation:
    'List all pay dates of the year. Those that take deductions divide the amounts of the year, and a run on any other date is rejected.',
  columns: [
    { name: 'pay_date', title: 'Pay date', isDate: true },
    { name: 'period_start', title: 'Period start', isDate: true },
    { name: 'period_end', title: 'Period end', isDate: true },
    { name: 'takes', title: 'Takes', choices: settings.TAKES },
  ],
  key: ['pay_date'],
  max: DATES_MAX,
};

/** `known`: the key of the schedule when it was opened; null for a new schedule. */
type Opened = Readonly<{
  employer_id: string;
  /** The run from whose page the user came. */
  run?: string | undefined;
  today: string;
  known: settings.ScheduleKey | null;
  saved: settings.Schedule | null;
}>;
type EditedSchedule = Edited & {
  readonly year: string;
  readonly frequency: string;
  readonly group: string;
  /** The place of the schedule in the list of its year, which the paths of problems contain. */
  readonly index?: number;
  /** The texts of the fields that generate pay dates. */
  readonly rule: Readonly<Record<string, string>>;
  readonly isGenerated?: boolean;
  /** Whether few checks take the amounts of the whole year, and whether a rest of the year may be left. */
  readonly marks: Readonly<Record<string, string>>;
};

const COVERAGE = choicesOf({
  false: 'in the months of the pay dates',
  true: 'all year, with pay dates in a part of it',
});
const REST = choicesOf({ false: 'must be taken by a pay date', true: 'may be left untaken' });

/** The rows of a schedule as a whole. */
const PAY_DATES = { path: 'pay_dates', place: { id: 'schedule', label: 'Pay dates' } } as const;

export function scheduleEditorPages({ page, action }: Console): void {
  page(SCHEDULE.path, 'runs:write', async ({ api, query, today }) => {
    const { employer_id = '', run, pay_frequency, pay_group } = query;
    const { year = today.slice(0, 'YYYY'.length) } = query;
    const key = keyOf(pay_frequency, pay_group);
    const schedules = await settings.schedulesOf(api, employer_id, year);
    const schedule = schedules.find((candidate) => settings.isFor(candidate, key));
    const yearBefore = String(Number(year) - 1).padStart('YYYY'.length, '0');
    // A new year usually continues the schedule of the year before.
    const continued =
      schedule || key === null ? [] : await settings.schedulesOf(api, employer_id, yearBefore);
    const { pay_dates = [] } = schedule ?? continued.find((earlier) => settings.isFor(earlier, key)) ?? {};
    const employer = nameIn('employer', employer_id);
    const title = schedule
      ? html`Pay schedule of ${employer}: ${year}, ${settings.titleOf(schedule)}`
      : html`New pay schedule of ${employer}`;
    const edited = {
      year,
      frequency:
        schedule?.pay_frequency ?? pay_frequency ?? (await firstFrequency(api, employer_id, schedules)),
      group: schedule?.pay_group ?? pay_group ?? '',
      rows: schedule?.pay_dates ?? [{}],
      rule: ruleOf(pay_dates.at(-1)),
      marks: { fewer_checks: schedule?.year_in_fewer_checks === true ? 'true' : 'false' },
      loaded: hashOf(schedule ?? null),
    };
    return {
      title,
      body: scheduleForm(
        { employer_id, run, today, known: schedule ? key : null, saved: schedule ?? null },
        edited,
      ),
    };
  });
  action(SCHEDULE.path, 'runs:write', saveSchedule);
  action(`${SCHEDULE.path}/preview`, 'runs:write', async ({ api, form }) => {
    const { employer_id = '', year = '', known_frequency, known_group } = form;
    const known = keyOf(known_frequency, known_group);
    const all = await settings.schedulesOf(api, employer_id, year);
    const saved = all.find((schedule) => settings.isFor(schedule, known));
    return changesOf(SCHEDULE, saved?.pay_dates ?? [], commandOf(form, SCHEDULE).rows);
  });
}

/** Returns what the fields that generate pay dates contain: the last known pay date, and its days after the period. */
function ruleOf(last: settings.Schedule['pay_dates'][number] | undefined): EditedSchedule['rule'] {
  if (last === undefined) return { from: '' };
  const lag = Temporal.PlainDate.from(last.period_end).until(last.pay_date).days;
  return { from: last.pay_date, lag_days: String(Math.max(0, lag)) };
}

/** Replaces, adds or deletes the schedule. The API takes all schedules of a year; the year's others are sent unchanged. */
async function saveSchedule({ api, form, today, query: { run } }: Act): Promise<Html | Done> {
  const { employer_id = '', loaded = '', year = '', pay_frequency = '', pay_group = '' } = form;
  const known = keyOf(form.known_frequency, form.known_group);
  const { do: command, ...rows } = commandOf(form, SCHEDULE);
  const all = await settings.schedulesOf(api, employer_id, year);
  const at = all.findIndex((schedule) => settings.isFor(schedule, known));
  const saved = all[at] ?? null;
  const opened = { employer_id, run, today, known, saved };
  const edited = {
    ...rows,
    loaded,
    year,
    frequency: pay_frequency,
    group: pay_group.trim(),
    rule: form,
    marks: form,
  };
  if (command === 'show') return scheduleForm(opened, edited);
  if (form.do === 'generate') {
    const generated = generatedFrom(form);
    if (generated.ok) {
      const focus = placeOfRow(0, 'pay_date', SCHEDULE).id;
      return scheduleForm(opened, { ...edited, rows: generated.rows, focus, isGenerated: true });
    }
    return scheduleForm(opened, { ...edited, problem: problemIn(generated.problems) });
  }
  if (command === 'save' && edited.rows.length === 0) {
    const wrong = { path: PAY_DATES.path, rule: 'are missing: generate them, or add a row' };
    return scheduleForm(opened, { ...edited, problem: problemIn([wrong]) });
  }
  if (hashOf(saved) !== loaded) {
    const current =
      saved === null
        ? html`<p>The pay schedule was deleted.</p>`
        : settings.dateTable(saved, `Current pay dates, ${settings.titleOf(saved)}`);
    return scheduleForm(opened, { ...edited, loaded: hashOf(saved), current });
  }
  const index = at === -1 ? all.length : at;
  const changed = {
    ...{ pay_frequency, pay_group: edited.group || null, pay_dates: edited.rows },
    year_in_fewer_checks: form.fewer_checks === 'true',
  };
  const schedules = (all as object[]).toSpliced(index, 1, ...(command === 'drop' ? [] : [changed]));
  const body = { schedules, ...(form.untaken === 'true' && { untaken: true }) };
  const call = api.perform(putPayScheduleOfYear, { params: { employer_id, year }, body });
  const { problem } = await attempt(call, 409, 422);
  if (problem === undefined) return { go: address('/settings', { employer_id, saved: 'schedule' }) };
  const { status, title, detail: rule = title } = problem;
  const errors = status === 409 ? [{ path: PAY_DATES.path, rule }] : (problem.errors ?? []);
  return scheduleForm(opened, { ...edited, problem: { ...problem, errors }, index });
}

/** Returns the key in an address or a form, which may have none: then nothing is known under it. */
function keyOf(frequency: string | undefined, group: string | undefined): settings.ScheduleKey | null {
  const pay_frequency = frequency as settings.ScheduleKey['pay_frequency'] | undefined;
  return pay_frequency === undefined ? null : { pay_frequency, pay_group: group ?? null };
}

function scheduleForm({ employer_id, run, today, known, saved }: Opened, edited: EditedSchedule): Html {
  const { year, frequency, group, index, rule, marks, isGenerated = false, rows, problem } = edited;
  const preview = isGenerated
    ? `Preview of ${year}: ${counted(rows.length, 'pay date')}. Nothing is saved yet.`
    : null;
  return editor(SCHEDULE, edited, {
    saved: saved?.pay_dates ?? [],
    hidden: {
      employer_id,
      ...(known !== null && {
        year,
        known_frequency: known.pay_frequency,
        known_group: known.pay_group ?? '',
      }),
    },
    back: address('/settings', { employer_id, run }),
    placeOf: (path) => {
      if (path === PAY_DATES.path) return PAY_DATES.place;
      const [, at, rest] = /^schedules\[(\d+)\](.*)$/s.exec(path) ?? [];
      return rest !== undefined && Number(at) === index ? placeOfRest(rest) : placeInRule(path);
    },
    fields: (wrong) => html`
      <div class="fields">
        ${known === null && field({ name: 'year', label: 'Year of the pay dates', value: year, choices: choicesOf(yearsAround(today, year)) })}
        ${field({ name: 'pay_frequency', label: 'Pay frequency', value: frequency, choices: choicesOf(FREQUENCIES), problems: wrong('pay_frequency') })}
        ${field({ name: 'pay_group', label: 'Pay group (optional)', value: group, problems: wrong('pay_group') })}
        ${field({ name: 'fewer_checks', label: 'Coverage', value: marks.fewer_checks ?? 'false', choices: COVERAGE })}
        ${problem !== undefined && field({ name: 'untaken', label: 'A rest of the year', value: marks.untaken ?? 'false', choices: REST })}
      </div>
      ${generator(rule, problem?.errors ?? [], known === null, preview)}
    `,
    more:
      known !== null &&
      html`<button type="button" class="danger" hx-post=${SCHEDULE.path} hx-target="#schedule" hx-swap="outerHTML" hx-vals=${JSON.stringify({ do: 'drop' })} hx-confirm="Delete this pay schedule? Open runs are then computed without it.">Delete pay schedule</button>`,
  });
}

/** Returns last year, this year and the next one, and the chosen year. */
function yearsAround(today: string, chosen: string): string[] {
  const year = Number(today.slice(0, 'YYYY'.length));
  return [...new Set([`${year - 1}`, `${year}`, `${year + 1}`, chosen])];
}

/** Returns the place of a path without its `schedules[0]`. */
function placeOfRest(rest: string): Place {
  const [, row, field] = /^\.pay_dates\[(\d+)\](?:\.(\w+))?$/.exec(rest) ?? [];
  if (row !== undefined) return placeOfRow(Number(row), field, SCHEDULE);
  if (rest === '.pay_group') return { id: 'pay_group', label: 'Pay group' };
  // A problem of the whole schedule: another one has the same key.
  if (rest === '' || rest === '.pay_frequency') return { id: 'pay_frequency', label: 'Pay frequency' };
  return PAY_DATES.place;
}

/** Returns the most common pay frequency of the employees that has no schedule in the year. */
async function firstFrequency(
  api: Api,
  employer_id: string,
  schedules: readonly settings.Schedule[],
): Promise<string> {
  const { pay_frequencies } = await api.perform(listPayFrequencies, { params: { employer_id } });
  const isSet = (frequency: string) => schedules.some(({ pay_frequency }) => pay_frequency === frequency);
  return pay_frequencies.find((frequency) => !isSet(frequency)) ?? pay_frequencies[0] ?? 'biweekly';
}
