/** One deduction: its latest state in words, and every state that it was ever in. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { facts } from '../../elements/facts.ts';
import { employeeLink, pathOf } from '../../elements/links.ts';
import { PAGE_ROWS, pager } from '../../elements/pager.ts';
import { state } from '../../elements/state.ts';
import { instant } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import { found, need, type OwnApi } from '../../own-api.ts';
import { type Page, page, type Visit } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { versionBefore } from './before.ts';
import { employerOf, whatToDo } from './employer.ts';
import { nothingFound } from './find.ts';
import type { Then } from './marks.ts';
import { type Asked, knownAtOf, thenFields, thenOf } from './then-form.ts';
import { timeline } from './timeline.ts';
import { type VersionRow, versionTable } from './versions.ts';
import { sentence, spanOf, standing } from './words.ts';

type Deduction = Schemas['Deduction'];

export function deductionPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/deductions/:deduction_id', scope: 'ledger:read' }, showDeduction);
}

async function showDeduction(visit: Visit): Promise<Page> {
  const { api, params, query, now, may } = visit;
  const { deduction_id: id = '' } = params;
  const path = pathOf('/deductions', id);
  const deduction =
    path === null
      ? null
      : found(await api.GET('/v1/deductions/{deduction_id}', { params: { path: { deduction_id: id } } }));
  if (path === null || deduction === null) return nothingFound('deduction', id, visit);
  const today = now.toISOString().slice(0, 10);
  const isAsked = Object.keys(thenOf(query)).length > 0;
  const answer = isAsked ? await stateThen(api, id, query) : null;
  const then: Then | null = isAsked
    ? { on: query.on ?? null, knownAt: knownAtOf(query), version: answer?.version ?? null }
    : null;
  const { rows, next } = await versionsOf(api, id, query.cursor);
  const versions = rows.map(({ version }) => version);
  return {
    title: `Deduction ${id}`,
    place: 'ledger',
    body: html`
      <div>
        <div class="cards beside">
          ${stateOf(deduction, today)}
          ${thenForm(path, query, answer, then)}
        </div>
        ${versions.length > 0 && timeline(versions, deduction.version, today, then)}
        ${versionTable(rows, { latest: deduction.version, then, mayEvents: may('events:read') })}
        ${pager(path, { ...thenOf(query), cursor: query.cursor }, next)}
      </div>
    `,
  };
}

/** What answers the questions of time; null when nothing was in effect, or known, then. */
async function stateThen(api: OwnApi, deduction_id: string, asked: Asked): Promise<Deduction | null> {
  const params = { path: { deduction_id }, query: thenOf(asked) };
  return found(await api.GET('/v1/deductions/{deduction_id}', { params }));
}

/** A page of versions, the newest first, each with the one before it in time, which may stand on the next page. */
async function versionsOf(
  api: OwnApi,
  deduction_id: string,
  cursor: string | undefined,
): Promise<{ rows: VersionRow[]; next: string | null }> {
  const read = async (limit: number, after: string | undefined) => {
    const query = { order: 'newest_first' as const, limit, ...(after !== undefined && { cursor: after }) };
    const params = { path: { deduction_id }, query };
    return need(await api.GET('/v1/deductions/{deduction_id}/versions', { params }));
  };
  const { data, next_cursor } = await read(PAGE_ROWS, cursor);
  const behind = next_cursor === null ? null : await read(PAGE_ROWS, next_cursor);
  const all = [...data, ...(behind?.data ?? [])];
  const isAll = (behind?.next_cursor ?? null) === null;
  return {
    rows: data.map((version, index) => ({
      version,
      before: versionBefore(version, all.slice(index + 1), isAll),
    })),
    next: next_cursor,
  };
}

function stateOf(deduction: Deduction, today: string): Html {
  const { word, tone } = standing(spanOf(deduction), today);
  const { version, position, event_time, recorded_at, description } = deduction;
  return html`
    <section class="card">
      <p class="lead">${sentence(deduction)}${' '}${state(word, tone)}</p>
      ${facts([
        ['Employee', employeeLink(deduction.employee_id)],
        ['Employer', html`<span>${employerOf(deduction)}${' '}${whatToDo(deduction)}</span>`],
        ['Description', description],
        ['Latest version', `${version}, at position ${position}`],
        ['Event time', instant(event_time)],
        ['Recorded', instant(recorded_at)],
      ])}
    </section>
  `;
}

function thenForm(path: string, asked: Asked, answer: Deduction | null, then: Then | null): Html {
  return html`
    <section class="card">
      <h2>At another time</h2>
      <form method="get" action=${path} class="filters">
        ${thenFields(asked)}
        <div class="actions">
          <button type="submit">Show</button>
          ${then !== null && html`<a class="button quiet" href=${path}>Back to today</a>`}
        </div>
      </form>
      ${then !== null && html`<p class="notice" role="note">${answerOf(answer, then)}</p>`}
    </section>
  `;
}

function answerOf(answer: Deduction | null, { on, knownAt }: Then): Content {
  const when = html`
    <strong>
      ${on === null ? 'The latest state' : `On ${on}`}${knownAt !== null && html`<span>${', as known at '}${instant(knownAt)}</span>`}${': '}
    </strong>
  `;
  if (answer === null) return [when, on === null ? 'nothing was known of it yet.' : 'it is not in effect.'];
  return [when, `${sentence(answer)} (version ${answer.version}).`];
}
