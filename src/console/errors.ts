/** Errors in words: the API's own, as a page, or beside what was asked for. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { refusalOf, tellRefusal } from '../api/failure.ts';
import { type ProblemDetails, problemOf } from '../api/problem.ts';
import { type Html, html, renderPart } from './html.ts';
import { ApiRefusal } from './own-api.ts';
import { PAGE_POLICY, sendPage } from './page.ts';
import type { ConsoleParts } from './parts.ts';
import { SIGN_IN_PATH } from './sign-in.ts';

/** Sends what the person reads of an error. What the API refused, it has told to the log already. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  parts: ConsoleParts,
  error: unknown,
): FastifyReply {
  const problem = error instanceof ApiRefusal ? error.problem : toldProblem(request, parts, error);
  const byHtmx = request.headers['hx-request'] === 'true';
  // A stream of news that ended with its session is no page to be led elsewhere.
  if (problem.status === 401 && request.headers.accept === 'text/event-stream') return reply.code(401).send();
  if (problem.status === 401) {
    const signIn = `${SIGN_IN_PATH}?next=${encodeURIComponent(placeOf(request, byHtmx))}`;
    return byHtmx ? reply.code(204).header('hx-redirect', signIn).send() : reply.redirect(signIn, 303);
  }
  if (!byHtmx) {
    const page = { title: problem.title, place: 'none' as const, status: problem.status };
    return sendPage(request, reply, parts, { ...page, body: whatHappened(problem) });
  }
  return reply
    .code(problem.status)
    .header('content-security-policy', PAGE_POLICY)
    .header('hx-retarget', '#said')
    .header('hx-reswap', 'innerHTML show:top')
    .header('hx-reselect', '.problem')
    .type('text/html; charset=utf-8')
    .send(
      renderPart(html`<div class="problem"><strong>${problem.title}</strong>${whatHappened(problem)}</div>`),
    );
}

function toldProblem(request: FastifyRequest, parts: ConsoleParts, error: unknown): ProblemDetails {
  const refusal = refusalOf(error);
  tellRefusal(parts, error, refusal, request);
  return problemOf(refusal);
}

export function whatHappened({ detail, errors = [], error_count }: ProblemDetails): Html {
  const more = (error_count ?? errors.length) - errors.length;
  return html`
    <div class="what-happened">
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

/** Where to go on after signing in: back to the page, not to what a button of it does. */
function placeOf(request: FastifyRequest, byHtmx: boolean): string {
  if (request.method === 'GET' && !byHtmx) return request.url;
  const shown = request.headers['hx-current-url'];
  if (typeof shown !== 'string' || !URL.canParse(shown)) return '/';
  const { pathname, search } = new URL(shown);
  return pathname + search;
}
