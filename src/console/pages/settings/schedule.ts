/** One pay schedule of an employer, edited as a table of pay dates. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { DATES_MAX } from '../../../api/routes/payroll-settings.ts';
import { choicesOf, selectField, textField } from '../../elements/field.ts';
import { address } from '../../elements/pager.ts';
import { type Place, problemSummary } from '../../elements/problem-summary.ts';
import {
  changedRows,
  type Focus,
  type Row,
  type RowColumn,
  type RowList,
  rowsOf,
  wishOf,
} from '../../elements/row-form.ts';
import { byPlace, placeOfRow, returnSaves, rowTable } from '../../elements/row-table.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { type Act, action, page } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { FREQUENCIES } from '../runs/words.ts';
import { changedMeanwhile, loadedField, loadedOf, markOf } from './loaded.ts';
import { dateTable, isFor, type Schedule, type ScheduleKey, schedulesOf, titleOf } from './pay-dates.ts';

const COLUMNS = [
  { name: 'pay_date', title: 'Pay date', kind: 'date' },
  { name: 'period_start', title: 'Period from', kind: 'date' },
  { name: 'period_end', title: 'Period to', kind: 'date' },
] as const satisfies readonly RowColumn[];
const DATES: RowList = {
  rows: 'pay dates',
  columns: COLUMNS,
  max: DATES_MAX,
  command: 'benefits-sidecar schedule put FILE --employer ID',
};

/** `known`: null of a schedule that is not there yet. */
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
  /** What is there by now, where that is not what was loaded; null when it was taken away. */
  readonly meanwhile?: Schedule | null;
  readonly refused?: { readonly problem: ProblemDetails; readonly index: number };
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
        loaded: markOf(known ?? null),
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
    const wish = wishOf(form);
    const typed = { frequency: form.pay_frequency ?? '', group: (form.pay_group ?? '').trim() };
    if (wish.do === 'save' || wish.do === 'drop') return save(act, of, typed, wish.do === 'drop');
    return scheduleForm(of, { ...typed, loaded: loadedOf(form), ...changedRows(form, DATES) });
  });
}

/** The schedule in the place of the known one, or behind the others, or taken away. The others stay as they are. */
async function save(
  { api, form }: Act,
  of: Of,
  typed: Pick<Shown, 'frequency' | 'group'>,
  isDropped: boolean,
) {
  const { employerId } = of;
  const loaded = loadedOf(form);
  const rows = rowsOf(form, DATES);
  const all = await schedulesOf(api, employerId);
  const at = all.findIndex((one) => isOf(one, of));
  const now = all[at] ?? null;
  if (markOf(now) !== loaded) {
    return scheduleForm(of, { ...typed, rows, loaded: markOf(now), meanwhile: now });
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
  const answer = await api.PUT('/v1/employers/{employer_id}/pay-schedule', {
    params: { path: { employer_id: employerId } },
    body: { schedules },
  });
  if (answer.response.status === 422 && answer.error !== undefined && !isDropped) {
    return scheduleForm(of, { ...typed, rows, loaded, refused: { problem: answer.error, index } });
  }
  need(answer);
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
  { frequency, group, rows, loaded, focus, meanwhile, refused }: Shown,
): Html {
  const own = (path: string) => {
    const [, index, rest] = /^schedules\[(\d+)\](.*)$/s.exec(path) ?? [];
    return refused !== undefined && index === String(refused.index) ? (rest ?? '') : null;
  };
  const placeOf = (path: string) => placeOfRest(own(path));
  const at = byPlace(refused?.problem.errors ?? [], placeOf);
  // Beside a field its rule is enough.
  const wrong = (id: string) => at(id).map(({ rule }) => ({ path: id, rule }));
  return html`
    <form id="schedule" novalidate hx-post="/settings/pay-schedule" hx-target="this" hx-swap="outerHTML">
      ${returnSaves()}
      ${refused !== undefined && problemSummary(refused.problem, placeOf)}
      ${meanwhile !== undefined && changedMeanwhile('the pay schedule', meanwhile === null ? html`<p>No such pay schedule: it was taken away.</p>` : dateTable(meanwhile, `Pay dates now, ${titleOf(meanwhile)}`))}
      <p>Each year of which there is a pay date must be complete: a check knows its place in the year by this list, and a run on another date is refused.</p>
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
        ${textField({ name: 'pay_group', label: 'Pay group, if there are any', value: group, problems: wrong('pay_group') })}
      </div>
      ${rowTable({
        caption: 'Pay dates, in order',
        columns: COLUMNS,
        rows,
        focus,
        problems: (index, name) => wrong(placeOfRow(index, name, COLUMNS).id),
      })}
      <div class="actions">
        <button type="submit" name="do" value="save">Save the schedule</button>
        <a class="button quiet" href=${address('/settings', { employer_id: employerId })}>Back</a>
        ${
          known !== null &&
          html`<button type="button" class="danger" hx-post="/settings/pay-schedule" hx-target="#schedule" hx-swap="outerHTML" hx-vals=${JSON.stringify({ do: 'drop' })} hx-confirm="Take this pay schedule away? Open runs are then computed without it.">Take this schedule away</button>`
        }
      </div>
    </form>
  `;
}

/** What the rest of a path is about, behind `schedules[0]`. */
function placeOfRest(rest: string | null): Place | null {
  if (rest === null) return null;
  const [, row, field] = /^\.pay_dates\[(\d+)\](?:\.(\w+))?$/.exec(rest) ?? [];
  if (row !== undefined) return placeOfRow(Number(row), field ?? null, COLUMNS);
  if (rest === '.pay_group') return { id: 'pay_group', label: 'Pay group' };
  // Of the schedule as a whole: another one is for the same.
  if (rest === '' || rest === '.pay_frequency') return { id: 'pay_frequency', label: 'Pay frequency' };
  return { id: 'schedule', label: 'Pay dates' };
}
