/** The console sessions of the signed-in user's token. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../client.ts';
import { defined, found, need } from '../api-client.ts';
import { instant, since } from '../elements/format.ts';
import { PAGE_ROWS, pager, table } from '../elements/table.ts';
import { type Html, html } from '../html.ts';
import { action, type ConsoleParts, page, type Visit } from '../page.ts';

type Session = Schemas['Session'];

const PATH = '/sessions';

export function sessionPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: PATH, scope: 'self' }, async (visit) => {
    const { cursor } = visit.query;
    const query = { limit: PAGE_ROWS, ...defined({ cursor }) };
    const { data, next_cursor } = need(await visit.api.GET('/v1/sessions', { params: { query } }));
    const hasOthers = cursor !== undefined || next_cursor !== null || data.some((one) => !one.is_current);
    return {
      title: 'Sessions',
      place: 'sessions',
      body: html`
      ${sessionTable(data, visit)}
      ${pager(PATH, { cursor }, next_cursor)}
      ${
        hasOthers &&
        html`
          <form hx-post=${`${PATH}/end-others`}>
            <button type="submit" class="danger">End all other sessions</button>
          </form>
        `
      }
      `,
    };
  });

  action(app, parts, { url: `${PATH}/:session/end`, scope: 'self' }, async ({ api, params }) => {
    const path = { session_id: params.session ?? '' };
    // The session may have ended in the meantime.
    found(await api.DELETE('/v1/sessions/{session_id}', { params: { path } }));
    return { go: PATH };
  });

  action(app, parts, { url: `${PATH}/end-others`, scope: 'self' }, async ({ api }) => {
    need(await api.DELETE('/v1/sessions'));
    return { go: PATH };
  });
}

function sessionTable(sessions: readonly Session[], { now }: Visit): Html {
  return table({
    caption: 'Sessions of your token',
    captionHidden: true,
    stacked: true,
    columns: [
      { title: 'Signed in', kind: 'date', cell: ({ created_at }) => instant(created_at) },
      { title: 'Last used', kind: 'date', cell: ({ last_used_at }) => since(last_used_at, now) },
      { title: 'Session', cell: ending },
    ],
    rows: sessions,
  });
}

function ending({ id, created_at, is_current }: Session): Html {
  if (is_current) return html`<span>This browser</span>`;
  return html`
    <form hx-post=${`${PATH}/${id}/end`}>
      <button type="submit" class="quiet">End session<span class="hidden-label"> ${created_at}</span></button>
    </form>
  `;
}
