/** One pay schedule of an employer, edited as a table. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { DATES_MAX } from '../../../api/routes/payroll-settings.ts';
import { need } from '../../api-client.ts';
import { choicesOf, type Place, problemSummary, selectField, textField } from '../../elements/fields.ts';
import { address } from '../../elements/links.ts';
import {
  byPlace,
  changedMeanwhile,
  changedRows,
  commandOf,
  type Focus,
  hashOf,
  loadedField,
  loadedHash,
  placeOfRow,
  type Row,
  type RowColumn,
  type RowList,
  rowsOf,
  rowTable,
  saveOnReturn,
} from '../../elements/row-editor.ts';
import { type Html, html } from '../../html.ts';
import { type Act, action, type ConsoleParts, page } from '../../page.ts';
import { FREQUENCIES } from '../runs/labels.ts';
import { dateTable, isFor, type Schedule, type ScheduleKey, schedulesOf, titleOf } from './overview.ts';

const COLUMNS = [
  { name: 'pay_date', title: 'Pay date', kind: 'date' },
  { name: 'period_start', title: 'Period start', kind: 'date' },
  { name: 'period_end', title: 'Period end', kind: 'date' },
] as const satisfies readonly RowColumn[];
const DATES: RowList = {
  rows: 'pay dates',
  columns: COLUMNS,
  max: DATES_MAX,
};

/** `known`: null for a new schedule. */
type Of = {
  readonly employerId: string;
  readonly known: ScheduleKey | null;
};
type Shown = {
  readonly frequency: string;
  readonly group: string;
  readonly rows: readonly Row[];
  readonly loaded: string;
  readonly focus?: Focus;
  /** The schedule by now, where it is not what was loaded; null when it was deleted. */
  readonly current?: Schedule | null;
  readonly rejected?: { readonly problem: ProblemDetails; readonly index: number };
};

export function schedulePages(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'runs:write';
  const url = '/settings/pay-schedule';

  page(app, parts, { url, scope }, async ({ api, query }) => {
    const of = ofGiven(query);
    const all = await schedulesOf(api, of.employerId);
    const known = all.find((one) => isOf(one, of));
    return {
      title:
        known === undefined
          ? `New pay schedule of ${of.employerId}`
          : `Pay schedule of ${of.employerId}: ${titleOf(known)}`,
      place: 'runs',
      body: scheduleForm(known === undefined ? { ...of, known: null } : of, {
        frequency: known?.pay_frequency ?? query.pay_frequency ?? 'biweekly',
        group: known?.pay_group ?? query.pay_group ?? '',
        rows: known?.pay_dates ?? [{}],
        loaded: hashOf(known ?? null),
      }),
    };
  });

  action(app, parts, { url, scope }, async (act) => {
    const { form } = act;
    const of = ofGiven({
      employer_id: form.employer_id,
      pay_frequency: form.known_frequency,
      pay_group: form.known_group,
    });
    const command = commandOf(form).do;
    const typed = { frequency: form.pay_frequency ?? '', group: (form.pay_group ?? '').trim() };
    if (command === 'save' || command === 'drop') return save(act, of, typed, command === 'drop');
    return scheduleForm(of, { ...typed, loaded: loadedHash(form), ...changedRows(form, DATES) });
  });
}

/** Replaces, adds or deletes the schedule. The API takes all schedules of the employer; the others are sent unchanged. */
async function save(
  { api, form }: Act,
  of: Of,
  typed: Pick<Shown, 'frequency' | 'group'>,
  isDropped: boolean,
) {
  const { employerId } = of;
  const loaded = loadedHash(form);
  const rows = rowsOf(form, DATES);
  const all = await schedulesOf(api, employerId);
  const at = all.findIndex((one) => isOf(one, of));
  const current = all[at] ?? null;
  if (hashOf(current) !== loaded) {
    return scheduleForm(of, { ...typed, rows, loaded: hashOf(current), current });
  }
  const index = at === -1 ? all.length : at;
  const own = isDropped
    ? []
    : [
        {
          pay_frequency: typed.frequency,
          pay_group: typed.group === '' ? null : typed.group,
          pay_dates: rows,
        },
      ];
  const schedules = all.toSpliced(index, 1, ...(own as unknown as Schedule[]));
  const response = await api.PUT('/v1/employers/{employer_id}/pay-schedule', {
    params: { path: { employer_id: employerId } },
    body: { schedules },
  });
  if (response.response.status === 422 && response.error !== undefined && !isDropped) {
    return scheduleForm(of, { ...typed, rows, loaded, rejected: { problem: response.error, index } });
  }
  need(response);
  return { go: address('/settings', { employer_id: employerId, saved: 'schedule' }) };
}

function ofGiven({ employer_id = '', pay_frequency, pay_group }: Partial<Record<string, string>>): Of {
  const frequency = (Object.keys(FREQUENCIES) as Schedule['pay_frequency'][]).find(
    (one) => one === pay_frequency,
  );
  return {
    employerId: employer_id,
    known: frequency === undefined ? null : { pay_frequency: frequency, pay_group: pay_group ?? null },
  };
}

function isOf(one: Schedule, { known }: Of): boolean {
  return known !== null && isFor(one, known);
}

function scheduleForm(
  { employerId, known }: Of,
  { frequency, group, rows, loaded, focus, current, rejected }: Shown,
): Html {
  const own = (path: string) => {
    const [, index, rest] = /^schedules\[(\d+)\](.*)$/s.exec(path) ?? [];
    return rejected !== undefined && index === String(rejected.index) ? (rest ?? '') : null;
  };
  const placeOf = (path: string) => placeOfRest(own(path));
  const at = byPlace(rejected?.problem.errors ?? [], placeOf);
  // A field already has a label, so its problem shows only the rule.
  const wrong = (id: string) => at(id).map(({ rule }) => ({ path: id, rule }));
  return html`
    <form id="schedule" novalidate hx-post="/settings/pay-schedule" hx-target="this" hx-swap="outerHTML">
      ${saveOnReturn()}
      ${rejected !== undefined && problemSummary(rejected.problem, placeOf)}
      ${current !== undefined && changedMeanwhile('the pay schedule', current === null ? html`<p>The pay schedule was deleted.</p>` : dateTable(current, `Current pay dates, ${titleOf(current)}`))}
      <p>List all pay dates of each year. Their number decides how annual amounts are divided, and a run on any other date is rejected.</p>
      <input type="hidden" name="employer_id" value=${employerId} />
      ${loadedField(loaded)}
      ${known !== null && html`<input type="hidden" name="known_frequency" value=${known.pay_frequency} />`}
      ${known !== null && html`<input type="hidden" name="known_group" value=${known.pay_group ?? ''} />`}
      <div class="fields">
        ${selectField({
          name: 'pay_frequency',
          label: 'Pay frequency',
          value: frequency,
          choices: choicesOf(FREQUENCIES),
          problems: wrong('pay_frequency'),
        })}
        ${textField({ name: 'pay_group', label: 'Pay group (optional)', value: group, problems: wrong('pay_group') })}
      </div>
      ${rowTable({
        caption: 'Pay dates',
        columns: COLUMNS,
        rows,
        focus,
        problems: (index, name) => wrong(placeOfRow(index, name, COLUMNS).id),
      })}
      <div class="actions">
        <button type="submit" name="do" value="save">Save pay schedule</button>
        <a class="button quiet" href=${address('/settings', { employer_id: employerId })}>Back</a>
        ${
          known !== null &&
          html`<button type="button" class="danger" hx-post="/settings/pay-schedule" hx-target="#schedule" hx-swap="outerHTML" hx-vals=${JSON.stringify({ do: 'drop' })} hx-confirm="Delete this pay schedule? Open runs are then computed without it.">Delete pay schedule</button>`
        }
      </div>
    </form>
  `;
}

/** Returns the place of a path without its `schedules[0]`. */
function placeOfRest(rest: string | null): Place | null {
  if (rest === null) return null;
  const [, row, field] = /^\.pay_dates\[(\d+)\](?:\.(\w+))?$/.exec(rest) ?? [];
  if (row !== undefined) return placeOfRow(Number(row), field ?? null, COLUMNS);
  if (rest === '.pay_group') return { id: 'pay_group', label: 'Pay group' };
  // A problem of the whole schedule: another one has the same key.
  if (rest === '' || rest === '.pay_frequency') return { id: 'pay_frequency', label: 'Pay frequency' };
  return { id: 'schedule', label: 'Pay dates' };
}
