/** What a person can do about a change. Only what the API would take is offered. */
import type { FastifyInstance } from 'fastify';
import type { ProblemDetails } from '../../../api/problem.ts';
import { REASON_MAX_CHARACTERS } from '../../../api/routes/employee-changes.ts';
import type { Schemas } from '../../../client.ts';
import { type Html, html } from '../../html.ts';
import { ApiRefusal, need } from '../../own-api.ts';
import { action } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { changePath } from './words.ts';

type Change = Schemas['AcceptedChange'];

export function decidingActions(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'changes:write';

  action(app, parts, { url: '/changes/:change/retry', scope }, async ({ api, params, form }) => {
    const params_ = pathOf(params.change);
    const force = form.force === 'true';
    const answer = await api.POST('/v1/employee-changes/{change_id}/retry', {
      params: params_,
      body: { force },
    });
    if (answer.response.status !== 409 || force) {
      need(answer);
      return { go: changePath(params.change ?? '') };
    }
    // Of a change that is still rejected only this is in the way: the page explains it, and offers to do it all the same.
    const { state } = need(await api.GET('/v1/employee-changes/{change_id}', { params: params_ }));
    if (state !== 'rejected') throw new ApiRefusal(answer.error as ProblemDetails);
    return { go: `${changePath(params.change ?? '')}?newer=1` };
  });

  action(app, parts, { url: '/changes/:change/cancel', scope }, async ({ api, params, form }) => {
    need(
      await api.POST('/v1/employee-changes/{change_id}/cancel', {
        params: pathOf(params.change),
        body: { reason: form.reason ?? '' },
      }),
    );
    return { go: changePath(params.change ?? '') };
  });

  action(app, parts, { url: '/changes/:change/release', scope }, async ({ api, params }) => {
    need(await api.POST('/v1/employee-changes/{change_id}/release', { params: pathOf(params.change) }));
    return { go: changePath(params.change ?? '') };
  });
}

function pathOf(change_id = '') {
  return { path: { change_id } };
}

/** Null when there is nothing to decide. What is being typed stays while the page shows itself anew, until the state is another. */
export function deciding(
  { change_id, state, holding }: Change,
  query: Readonly<Record<string, string>>,
): Html | null {
  if (state !== 'rejected' && state !== 'pending') return null;
  const path = changePath(change_id);
  const isRejected = state === 'rejected';
  const isNewerDelivered = isRejected && query.newer !== undefined;
  return html`
    <section class="card" id=${`decide-${state}`} hx-morph-skip aria-labelledby="decide">
      <h2 id="decide">What to do</h2>
      ${!isRejected && html`<p>Nothing: it goes by itself. Only if the service must not hear of it, cancel it.</p>`}
      ${isNewerDelivered && newerDelivered(path)}
      ${
        isRejected &&
        !isNewerDelivered &&
        choice({
          path: `${path}/retry`,
          isFirst: true,
          words: 'Retry',
          when: 'What was wrong is mended at the service. It goes before what waits behind it.',
        })
      }
      ${
        holding &&
        choice({
          path: `${path}/release`,
          words: 'Release the others',
          when: 'The service knows the employee all the same. This hire stays rejected, and the later changes go.',
        })
      }
      <form class="decision" hx-post=${`${path}/cancel`}>
        <div class="field">
          <label for="reason">Why it is cancelled</label>
          <input id="reason" name="reason" required maxlength=${REASON_MAX_CHARACTERS} autocomplete="off" />
        </div>
        <button type="submit" class="danger">Cancel the change</button>
        <p class="hint">
          ${'It is never sent, what it says is erased, and what waited behind it goes. What the roster learned stays: report the right one as a new change.'}
        </p>
      </form>
    </section>
  `;
}

function choice({
  path,
  words,
  when,
  isFirst = false,
}: {
  path: string;
  words: string;
  when: string;
  isFirst?: boolean;
}): Html {
  return html`
    <form class="decision" hx-post=${path}>
      <button type="submit" class=${isFirst ? undefined : 'quiet'}>${words}</button>
      <p class="hint">${when}</p>
    </form>
  `;
}

function newerDelivered(path: string): Html {
  return html`
    <div class="problem" role="alert">
      <p><strong>Not retried: a newer change of this employee was delivered.</strong></p>
      <p>
        ${'Sent now, this older one may undo it: the service would take what it says last for what is true. Mostly the right thing is to cancel it and, if need be, to report what is true as a new change.'}
      </p>
      <form hx-post=${`${path}/retry`}>
        <input type="hidden" name="force" value="true" />
        <button type="submit" class="danger">Retry it all the same</button>
      </form>
    </div>
  `;
}
