/** One deduction: its latest state, its state at another time, and all its versions. */
import type { FastifyInstance } from 'fastify';
import type { Client, Schemas } from '../../../client.ts';
import { defined, found, need } from '../../api-client.ts';
import { facts, state } from '../../elements/facts.ts';
import { instant } from '../../elements/format.ts';
import { employeeLink, pathOf } from '../../elements/links.ts';
import { PAGE_ROWS, pager } from '../../elements/table.ts';
import { type Content, type Html, html } from '../../html.ts';
import { type ConsoleParts, type Page, page, type Visit } from '../../page.ts';
import { notFound } from './find.ts';
import { type Asked, askedFields, askedQuery, knownAtOf } from './list.ts';
import { employerAdvice, employerOf, sentence, spanOf, stateOn } from './terms.ts';
import { timeline } from './timeline.ts';
import { previousVersion, type Then, type VersionRow, versionTable } from './versions.ts';

type Deduction = Schemas['Deduction'];

export function deductionPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: '/deductions/:deduction_id', scope: 'ledger:read' }, showDeduction);
}

async function showDeduction(visit: Visit): Promise<Page> {
  const { api, params, query, now, may } = visit;
  const { deduction_id: id = '' } = params;
  const path = pathOf('/deductions', id);
  const read = async (at: Asked) =>
    found(
      await api.GET('/v1/deductions/{deduction_id}', {
        params: { path: { deduction_id: id }, query: askedQuery(at) },
      }),
    );
  const deduction = path === null ? null : await read({});
  if (path === null || deduction === null) return notFound('deduction', id, visit);
  const today = now.toISOString().slice(0, 10);
  const isAsked = Object.keys(askedQuery(query)).length > 0;
  const past = isAsked ? await read(query) : null;
  const then: Then | null = isAsked
    ? { on: query.on ?? null, knownAt: knownAtOf(query), version: past?.version ?? null }
    : null;
  const { rows, next } = await versionsOf(api, id, query.cursor);
  const versions = rows.map(({ version }) => version);
  return {
    title: `Deduction ${id}`,
    place: 'ledger',
    body: html`
      <div class="cards beside">
        ${summary(deduction, today)}
        ${timeForm(path, query, past, then)}
      </div>
      ${versions.length > 0 && timeline(versions, deduction.version, today, then)}
      ${versionTable(rows, { latest: deduction.version, then, mayEvents: may('events:read') })}
      ${pager(path, { ...askedQuery(query), cursor: query.cursor }, next)}
    `,
  };
}

/** Reads a page of versions, newest first, each with its previous version, which may be on the next page. */
async function versionsOf(
  api: Client,
  deduction_id: string,
  cursor: string | undefined,
): Promise<{ rows: VersionRow[]; next: string | null }> {
  const read = async (after: string | undefined) => {
    const query = { order: 'newest_first' as const, limit: PAGE_ROWS, ...defined({ cursor: after }) };
    const params = { path: { deduction_id }, query };
    return need(await api.GET('/v1/deductions/{deduction_id}/versions', { params }));
  };
  const { data, next_cursor } = await read(cursor);
  const older = next_cursor === null ? null : await read(next_cursor);
  const all = [...data, ...(older?.data ?? [])];
  const isAll = (older?.next_cursor ?? null) === null;
  return {
    rows: data.map((version, index) => ({
      version,
      previous: previousVersion(version, all.slice(index + 1), isAll),
    })),
    next: next_cursor,
  };
}

function summary(deduction: Deduction, today: string): Html {
  const { word, tone } = stateOn(spanOf(deduction), today);
  const { version, position, event_time, recorded_at, description } = deduction;
  return html`
    <section class="card">
      <p class="lead">${sentence(deduction)}${' '}${state(word, tone)}</p>
      ${facts([
        ['Employee', employeeLink(deduction.employee_id)],
        ['Employer', html`<span>${employerOf(deduction)}${' '}${employerAdvice(deduction)}</span>`],
        ['Description', description],
        ['Latest version', `${version}, at ledger position ${position}`],
        ['Event time', instant(event_time)],
        ['Recorded', instant(recorded_at)],
      ])}
    </section>
  `;
}

function timeForm(path: string, asked: Asked, past: Deduction | null, then: Then | null): Html {
  return html`
    <section class="card">
      <h2>At another time</h2>
      <form method="get" action=${path} class="filters">
        ${askedFields(asked)}
        <div class="actions">
          <button type="submit">Show</button>
          ${then !== null && html`<a class="button quiet" href=${path}>Back to today</a>`}
        </div>
      </form>
      ${then !== null && html`<p class="notice" role="note">${stateThen(past, then)}</p>`}
    </section>
  `;
}

function stateThen(past: Deduction | null, { on, knownAt }: Then): Content {
  const when = html`
    <strong>
      ${on === null ? 'Latest state' : `On ${on}`}${knownAt !== null && html`<span>${', as known at '}${instant(knownAt)}</span>`}${': '}
    </strong>
  `;
  if (past === null) return [when, on === null ? 'not known yet.' : 'not in effect.'];
  return [when, `${sentence(past)} (version ${past.version}).`];
}
