/** The sessions of the signed-in person's token. */
import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../client.ts';
import { PAGE_ROWS, pager } from '../elements/pager.ts';
import { table } from '../elements/table.ts';
import { instant, since } from '../elements/time.ts';
import { type Html, html } from '../html.ts';
import { found, need } from '../own-api.ts';
import { action, page, type Visit } from '../page.ts';
import type { ConsoleParts } from '../parts.ts';

type Session = Schemas['Session'];

const PATH = '/sessions';

export function sessionPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: PATH, scope: 'self' }, async (visit) => {
    const { cursor } = visit.query;
    const query = { limit: PAGE_ROWS, ...(cursor !== undefined && { cursor }) };
    const { data, next_cursor } = need(await visit.api.GET('/v1/sessions', { params: { query } }));
    const hasOthers = cursor !== undefined || next_cursor !== null || data.some((one) => !one.is_current);
    return {
      title: 'Sessions',
      place: 'sessions',
      body: html`
        <div>
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
        </div>
      `,
    };
  });

  action(app, parts, { url: `${PATH}/:session/end`, scope: 'self' }, async ({ api, params }) => {
    const path = { session_id: params.session ?? '' };
    // A session that ended in the meantime is what the person wanted.
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
