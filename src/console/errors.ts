/** Error pages and messages. Their texts are the API's problem details. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { knowPerson } from '../api/auth.ts';
import { logRefusal, type ProblemDetails, problemOf, refusalOf } from '../api/problem.ts';
import { rejectionOf } from './api-client.ts';
import { empty } from './elements/facts.ts';
import { type Html, html, renderPart } from './html.ts';
import { type ConsoleParts, PAGE_POLICY, sendPage } from './page.ts';
import { SIGN_IN_PATH } from './sign-in.ts';

/** Sends an error as a page, or as a message on the current page. The API has logged what it rejected. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ConsoleParts,
  error: unknown,
): FastifyReply {
  const problem = rejectionOf(error) ?? loggedProblem(request, parts, error);
  const byHtmx = request.headers['hx-request'] === 'true';
  // An event stream cannot be redirected to the sign-in page.
  if (problem.status === 401 && request.headers.accept === 'text/event-stream') return reply.code(401).send();
  if (problem.status === 401) {
    const signIn = `${SIGN_IN_PATH}?next=${encodeURIComponent(currentPage(request, byHtmx))}`;
    return byHtmx ? reply.code(204).header('hx-redirect', signIn).send() : reply.redirect(signIn, 303);
  }
  if (!byHtmx) {
    const { title, status } = problem;
    return sendPage(request, reply, parts, { title, status, body: problemBody(problem) });
  }
  return reply
    .code(problem.status)
    .header('content-security-policy', PAGE_POLICY)
    .header('hx-retarget', '#message')
    .header('hx-reswap', 'innerHTML show:top')
    .header('hx-reselect', '.problem')
    .type('text/html; charset=utf-8')
    .send(
      renderPart(html`<div class="problem"><strong>${problem.title}</strong>${problemBody(problem)}</div>`),
    );
}

function loggedProblem(request: FastifyRequest, parts: ConsoleParts, error: unknown): ProblemDetails {
  const refusal = refusalOf(error);
  logRefusal(parts, error, refusal, request);
  return problemOf(refusal);
}

export function problemBody({ detail, errors = [], error_count = errors.length }: ProblemDetails): Html {
  const more = error_count - errors.length;
  return html`
    <div class="problem-body">
      ${detail !== undefined && html`<p>${detail}</p>`}
      ${
        errors.length > 1 &&
        html`<ul>
          ${errors.map(({ path, rule }) => html`<li><code>${path}</code>${` ${rule}`}</li>`)}
          ${more > 0 && html`<li>${`and ${more} more`}</li>`}
        </ul>`
      }
    </div>
  `;
}

/** Returns the page to open after signing in: for a button, the page it is on. */
function currentPage(request: FastifyRequest, byHtmx: boolean): string {
  if (request.method === 'GET' && !byHtmx) return request.url;
  const shown = request.headers['hx-current-url'];
  if (typeof shown !== 'string' || !URL.canParse(shown)) return '/';
  const { pathname, search } = new URL(shown);
  return pathname + search;
}

/** Sends the page for an unknown address; returns null for programs and users who are not signed in. */
export async function unknownPage(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ConsoleParts,
): Promise<FastifyReply | null> {
  const { method, url, headers } = request;
  const isPage = method === 'GET' && !/^\/v1(?:[/?]|$)/.test(url) && headers.accept?.includes('text/html');
  if (isPage !== true || !(await knowPerson(request, parts))) return null;
  return sendPage(request, reply, parts, {
    title: 'Page not found',
    status: 404,
    body: empty(
      'There is no page at this address',
      html`<p>${'Check the address, or use the navigation above. You can find employees and deductions by ID in the '}<a href="/ledger">ledger</a>, and events in the list of <a href="/events">events</a>.</p>`,
    ),
  });
}
