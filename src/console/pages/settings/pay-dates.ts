/** An employer's pay schedules, to be read. */
import type { Schemas } from '../../../client.ts';
import { count } from '../../elements/facts.ts';
import { address } from '../../elements/pager.ts';
import { table } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import type { Visit } from '../../page.ts';

export type Schedule = Schemas['PaySchedules']['schedules'][number];
/** What tells a schedule from the employer's others. */
export type ScheduleKey = Pick<Schedule, 'pay_frequency' | 'pay_group'>;

/** Dates on one page: two schedules of ten years, each week. An employer may have a hundred such. */
const DATES_SHOWN = 1_100;

export async function schedulesOf(api: Visit['api'], employer_id: string): Promise<Schedule[]> {
  const path = { employer_id };
  return need(await api.GET('/v1/employers/{employer_id}/pay-schedule', { params: { path } })).schedules;
}

/** No pay group is null to some, and left out by others. */
export function isFor(one: ScheduleKey, other: ScheduleKey): boolean {
  return one.pay_frequency === other.pay_frequency && (one.pay_group ?? null) === (other.pay_group ?? null);
}

/** Each schedule with its dates, as long as the page bears them; of the others `wished` is shown, the rest are links. */
export function scheduleCards(
  schedules: readonly Schedule[],
  given: { employer_id: string; mayWrite: boolean; wished: Readonly<Record<string, string>> },
): Html {
  let dates = 0;
  return html`
    <div>
      ${schedules.map((schedule) => {
        dates += schedule.pay_dates.length;
        return card(schedule, { ...given, isShort: dates <= DATES_SHOWN });
      })}
    </div>
  `;
}

function card(
  schedule: Schedule,
  {
    employer_id,
    mayWrite,
    wished,
    isShort,
  }: {
    employer_id: string;
    mayWrite: boolean;
    wished: Readonly<Record<string, string>>;
    isShort: boolean;
  },
): Html {
  const { pay_dates } = schedule;
  const [first, last] = [pay_dates.at(0), pay_dates.at(-1)];
  const which = {
    employer_id,
    pay_frequency: schedule.pay_frequency,
    pay_group: schedule.pay_group ?? undefined,
  };
  const isWished = wished.pay_frequency === which.pay_frequency && wished.pay_group === which.pay_group;
  return html`
    <section class="card">
      <h3>${titleOf(schedule)}</h3>
      <p>${`${pay_dates.length} pay dates, ${first?.pay_date} to ${last?.pay_date}`}</p>
      ${
        isShort || isWished
          ? html`
              <details open=${isWished}>
                <summary>The pay dates</summary>
                ${dateTable(schedule, `Pay dates, ${titleOf(schedule)}`)}
              </details>
            `
          : html`<p class="hint">${`The page shows ${count(DATES_SHOWN)} dates at most. `}<a href=${address('/settings', which)}>Show those of this schedule</a></p>`
      }
      ${mayWrite && html`<p><a href=${address('/settings/pay-schedule', which)}>Edit</a></p>`}
    </section>
  `;
}

export function dateTable({ pay_dates }: Schedule, caption: string): Html {
  return table<Schedule['pay_dates'][number]>({
    caption,
    captionHidden: true,
    columns: [
      { title: 'Pay date', kind: 'name', cell: ({ pay_date }) => pay_date },
      { title: 'Period from', kind: 'date', cell: ({ period_start }) => period_start },
      { title: 'Period to', kind: 'date', cell: ({ period_end }) => period_end },
    ],
    rows: pay_dates,
  });
}

export function titleOf({ pay_frequency, pay_group }: Schedule): string {
  return (pay_group ?? null) === null ? pay_frequency : `${pay_frequency}, pay group ${pay_group}`;
}
