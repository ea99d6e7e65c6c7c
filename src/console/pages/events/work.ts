/** What people do about events: have them applied again, or say that nothing is to be done. */
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../../../api/problem.ts';
import { pathOf } from '../../elements/links.ts';
import { address, PAGE_ROWS } from '../../elements/pager.ts';
import { need } from '../../own-api.ts';
import { type Act, action, type Done } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { asQuery, filterOf, type State } from './filter.ts';

/** Begins the name of a row's checkbox; its event's id follows. */
export const SELECTED = 'selected:';

export function eventWorkActions(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'events:write';
  action(app, parts, { url: '/events/reprocess', scope }, reprocessSelected);
  action(app, parts, { url: '/events/reprocess-all', scope }, reprocessAll);

  action(
    app,
    parts,
    { url: '/events/:event_id/reprocess', scope },
    async ({ api, params: { event_id = '' } }) => {
      need(await api.POST('/v1/events/{event_id}/reprocess', { params: { path: { event_id } } }));
      return { go: onePath(event_id) };
    },
  );

  action(
    app,
    parts,
    { url: '/events/:event_id/dismiss', scope },
    async ({ api, params: { event_id = '' }, form }) => {
      const body = { reason: form.reason ?? '' };
      need(await api.POST('/v1/events/{event_id}/dismiss', { params: { path: { event_id } }, body }));
      return { go: onePath(event_id) };
    },
  );
}

/** One after the other: a page has few. */
async function reprocessSelected({ api, form }: Act): Promise<Done> {
  const ids = Object.keys(form).flatMap((name) =>
    name.startsWith(SELECTED) ? [name.slice(SELECTED.length)] : [],
  );
  if (ids.length === 0)
    throw new Refusal('invalid-request', 'select at least one event, by the box before it');
  if (ids.length > PAGE_ROWS) throw new Refusal('too-large', `select at most ${PAGE_ROWS} events, a page`);
  for (const event_id of ids) {
    need(await api.POST('/v1/events/{event_id}/reprocess', { params: { path: { event_id } } }));
  }
  return { go: address('/events', { ...filterOf(form), put_back: String(ids.length) }) };
}

async function reprocessAll({ api, form }: Act): Promise<Done> {
  const filter = filterOf(form);
  const { dismissed: _, conflict: __, ...asked } = asQuery(filter);
  // A pending one is applied anyway: the API says so of a state that it does not take.
  const body = asked as typeof asked & { state?: Exclude<State, 'pending'> };
  const done = need(await api.POST('/v1/events/reprocess', { body }));
  const told = { put_back: String(done.reprocessed), without_body: String(done.without_body) };
  return { go: address('/events', { ...filter, ...told }) };
}

/** Where an event is shown; the list, of an id that has no page of its own. */
export function onePath(eventId: string): string {
  return pathOf('/events', eventId) ?? '/events';
}
