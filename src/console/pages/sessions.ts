/** The console sessions of the signed-in user's token. */
import type { RowOf } from '../../api/operation.ts';
import { endOtherSessions, endSession, listSessions } from '../../api/operations/sessions.ts';
import { roleOf } from '../../security/scopes.ts';
import type { Caller } from '../../security/tokens.ts';
import { facts, savedNotice } from '../elements/facts.ts';
import { capitalized, instant, since } from '../elements/format.ts';
import { address, named } from '../elements/links.ts';
import { PAGE_ROWS, pager, table } from '../elements/list.ts';
import { type Html, html } from '../html.ts';
import type { Console } from '../page.ts';
import { dataOrNull } from '../performing.ts';

const PATH = '/sessions';
type Session = RowOf<typeof listSessions>;

export function sessionPages({ page, action, button }: Console): void {
  page(PATH, 'self', async ({ api, now, caller, query: { cursor, ended } }) => {
    const { data, next_cursor } = await api.perform(listSessions, { query: { limit: PAGE_ROWS, cursor } });
    const hasOthers =
      cursor !== undefined || next_cursor !== null || data.some((session) => !session.is_current);
    const endOthers = html`<button type="submit" class="danger">End all other sessions</button>`;
    const body = html`
      ${savedNotice({ saved: ended }, '/', 'Home', ended === 'others' ? 'All other sessions ended.' : 'Session ended.')}
      ${caller !== null && accessOf(caller)}
      ${table(data, { caption: 'Sessions of your token', captionHidden: true }, [
        ['Signed in', ({ created_at }) => instant(created_at), 'date'],
        ['Last used', ({ last_used_at }) => since(last_used_at, now), 'date'],
        ['Session', ending],
      ])}
      ${pager(PATH, { cursor }, next_cursor)}
      ${hasOthers && html`<form hx-post=${`${PATH}/end-others`}>${endOthers}</form>`}
    `;
    return { title: 'Sessions', body };
  });

  action(`${PATH}/:session_id/end`, 'self', async ({ api }) => {
    // The session may have ended in the meantime.
    await dataOrNull(api.perform(endSession));
    return { go: address(PATH, { ended: 'one' }) };
  });

  button(`${PATH}/end-others`, endOtherSessions, () => address(PATH, { ended: 'others' }));
}

function accessOf({ scopes, person, employers }: Caller): Html {
  const role = roleOf(scopes);
  return facts([
    ['Role', role && capitalized(role.replace('-', ' '))],
    // A role is its scopes.
    ['Scopes', role === null && scopes.join(', ')],
    ['Person', person],
    ['Employers', employers?.map((id) => html`<div>${named('employer', id)}</div>`)],
  ]);
}

function ending({ id, created_at, is_current }: Session): Html {
  if (is_current) return html`<span>This browser</span>`;
  return html`
    <form hx-post=${`${PATH}/${id}/end`}>
      <button type="submit" class="quiet">End session<span class="hidden-label"> ${created_at}</span></button>
    </form>
  `;
}
