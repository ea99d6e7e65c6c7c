/** An address that is not there, in words for a person; programs get the API's problem. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { knowPerson } from '../api/auth.ts';
import { empty } from './elements/empty.ts';
import { html } from './html.ts';
import { sendPage } from './page.ts';
import type { ConsoleParts } from './parts.ts';

/** Null where it is no person who is signed in, looking for a page: then nothing was answered. */
export async function unknownPage(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ConsoleParts,
): Promise<FastifyReply | null> {
  const { method, url, headers } = request;
  const isPage = method === 'GET' && !/^\/v1(?:[/?]|$)/.test(url) && headers.accept?.includes('text/html');
  if (isPage !== true || !(await knowPerson(request, parts))) return null;
  return sendPage(request, reply, parts, {
    title: 'There is no such page',
    place: 'none',
    status: 404,
    body: empty(
      'Nothing is at this address',
      html`<p>${'It may be mistyped, or be of another version. What there is, is in the navigation above; employees and deductions are found by their ids in the '}<a href="/ledger">ledger</a>, and events among the <a href="/events">events</a>.</p>`,
    ),
  });
}
