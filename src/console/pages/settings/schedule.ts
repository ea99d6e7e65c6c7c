/** One pay schedule of an employer, edited as a table. */
import { DATES_MAX } from '../../../api/routes/payroll-settings.ts';
import { attempt } from '../../api-client.ts';
import { choicesOf, field, type Place } from '../../elements/fields.ts';
import { address } from '../../elements/links.ts';
import {
  commandOf,
  type Edited,
  editor,
  hashOf,
  placeOfRow,
  type RowList,
} from '../../elements/row-editor.ts';
import { type Html, html } from '../../html.ts';
import type { Act, Console, Done } from '../../page.ts';
import { FREQUENCIES } from '../runs/labels.ts';
import { dateTable, isFor, type Schedule, type ScheduleKey, schedulesOf, titleOf } from './overview.ts';

const LIST: RowList = {
  id: 'schedule',
  path: '/settings/pay-schedule',
  rows: 'pay dates',
  what: 'pay schedule',
  explanation:
    'List all pay dates of each year. Their number decides how annual amounts are divided, and a run on any other date is rejected.',
  columns: [
    { name: 'pay_date', title: 'Pay date', kind: 'date' },
    { name: 'period_start', title: 'Period start', kind: 'date' },
    { name: 'period_end', title: 'Period end', kind: 'date' },
  ],
  max: DATES_MAX,
};

/** `known`: the key of the schedule when it was opened; null for a new schedule. */
type Of = { readonly employer_id: string; readonly known: ScheduleKey | null };
/** `index`: the place of the schedule among those of the employer, which the paths of problems contain. */
type Shown = Edited & { readonly frequency: string; readonly group: string; readonly index?: number };

export function schedulePages({ page, action }: Console): void {
  page(LIST.path, 'runs:write', async ({ api, query }) => {
    const { employer_id = '', pay_frequency, pay_group } = query;
    const key = keyOf(pay_frequency, pay_group);
    const schedule = (await schedulesOf(api, employer_id)).find((one) => isFor(one, key));
    return {
      title:
        schedule === undefined
          ? `New pay schedule of ${employer_id}`
          : `Pay schedule of ${employer_id}: ${titleOf(schedule)}`,
      body: scheduleForm(
        { employer_id, known: schedule === undefined ? null : key },
        {
          frequency: schedule?.pay_frequency ?? pay_frequency ?? 'biweekly',
          group: schedule?.pay_group ?? pay_group ?? '',
          rows: schedule?.pay_dates ?? [{}],
          loaded: hashOf(schedule ?? null),
        },
      ),
    };
  });
  action(LIST.path, 'runs:write', save);
}

/** Replaces, adds or deletes the schedule. The API takes all schedules of the employer; the others are sent unchanged. */
async function save({ api, form }: Act): Promise<Html | Done> {
  const { employer_id = '', loaded = '', pay_frequency = '', pay_group = '' } = form;
  const of = { employer_id, known: keyOf(form.known_frequency, form.known_group) };
  const { do: command, ...edited } = commandOf(form, LIST);
  const shown = { ...edited, loaded, frequency: pay_frequency, group: pay_group.trim() };
  if (command === 'show') return scheduleForm(of, shown);
  const all = await schedulesOf(api, employer_id);
  const at = all.findIndex((one) => isFor(one, of.known));
  const current = all[at] ?? null;
  if (hashOf(current) !== loaded) {
    return scheduleForm(of, { ...shown, loaded: hashOf(current), current: currentDates(current) });
  }
  const index = at === -1 ? all.length : at;
  const own = { pay_frequency, pay_group: shown.group === '' ? null : shown.group, pay_dates: edited.rows };
  const schedules = all.toSpliced(index, 1, ...((command === 'drop' ? [] : [own]) as unknown as Schedule[]));
  const call = api.send('put', '/v1/employers/{employer_id}/pay-schedule', { employer_id }, { schedules });
  const { problem } = await attempt(call, 422);
  if (problem !== undefined) return scheduleForm(of, { ...shown, problem, index });
  return { go: address('/settings', { employer_id, saved: 'schedule' }) };
}

/** Returns the key in an address or a form, which may have none: then nothing is known under it. */
function keyOf(frequency: string | undefined, group: string | undefined): ScheduleKey | null {
  const pay_frequency = frequency as ScheduleKey['pay_frequency'] | undefined;
  return pay_frequency === undefined ? null : { pay_frequency, pay_group: group ?? null };
}

function currentDates(current: Schedule | null): Html {
  return current === null
    ? html`<p>The pay schedule was deleted.</p>`
    : dateTable(current, `Current pay dates, ${titleOf(current)}`);
}

function scheduleForm({ employer_id, known }: Of, shown: Shown): Html {
  const { frequency, group, index } = shown;
  return editor(LIST, shown, {
    hidden: {
      employer_id,
      ...(known !== null && { known_frequency: known.pay_frequency, known_group: known.pay_group ?? '' }),
    },
    back: address('/settings', { employer_id }),
    placeOf: (path) => {
      const [, at, rest] = /^schedules\[(\d+)\](.*)$/s.exec(path) ?? [];
      return rest !== undefined && Number(at) === index ? placeOfRest(rest) : null;
    },
    fields: (wrong) => html`
      <div class="fields">
        ${field({ name: 'pay_frequency', label: 'Pay frequency', value: frequency, choices: choicesOf(FREQUENCIES), problems: wrong('pay_frequency') })}
        ${field({ name: 'pay_group', label: 'Pay group (optional)', value: group, problems: wrong('pay_group') })}
      </div>
    `,
    more:
      known !== null &&
      html`<button type="button" class="danger" hx-post=${LIST.path} hx-target="#schedule" hx-swap="outerHTML" hx-vals=${JSON.stringify({ do: 'drop' })} hx-confirm="Delete this pay schedule? Open runs are then computed without it.">Delete pay schedule</button>`,
  });
}

/** Returns the place of a path without its `schedules[0]`. */
function placeOfRest(rest: string): Place {
  const [, row, field] = /^\.pay_dates\[(\d+)\](?:\.(\w+))?$/.exec(rest) ?? [];
  if (row !== undefined) return placeOfRow(Number(row), field, LIST);
  if (rest === '.pay_group') return { id: 'pay_group', label: 'Pay group' };
  // A problem of the whole schedule: another one has the same key.
  if (rest === '' || rest === '.pay_frequency') return { id: 'pay_frequency', label: 'Pay frequency' };
  return { id: 'schedule', label: 'Pay dates' };
}
