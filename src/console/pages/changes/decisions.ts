/** Actions on a change: retry it, release the changes waiting for it, or cancel it. */

import type { FastifyInstance } from 'fastify';
import type { Schemas } from '../../../client.ts';
import { REASON_MAX_CHARACTERS } from '../../../contract/fields.ts';
import { need, rejectedByApi } from '../../api-client.ts';
import { changePath } from '../../elements/links.ts';
import { type Html, html } from '../../html.ts';
import { action, type ConsoleParts } from '../../page.ts';

export function changeDecisions(app: FastifyInstance, parts: ConsoleParts): void {
  const scope = 'changes:write';

  action(app, parts, { url: '/changes/:change/retry', scope }, async ({ api, params, form }) => {
    const change_id = params.change ?? '';
    const path = { change_id };
    const force = form.force === 'true';
    const response = await api.POST('/v1/employee-changes/{change_id}/retry', {
      params: { path },
      body: { force },
    });
    if (response.response.status !== 409 || force) {
      need(response);
      return { go: changePath(change_id) };
    }
    // A change that is still rejected conflicts only with a newer delivered one; the page then offers to force it.
    const { state } = need(await api.GET('/v1/employee-changes/{change_id}', { params: { path } }));
    if (state !== 'rejected') throw rejectedByApi(response.error);
    return { go: `${changePath(change_id)}?newer=1` };
  });

  action(app, parts, { url: '/changes/:change/cancel', scope }, async ({ api, params, form }) => {
    const change_id = params.change ?? '';
    const body = { reason: form.reason ?? '' };
    need(
      await api.POST('/v1/employee-changes/{change_id}/cancel', { params: { path: { change_id } }, body }),
    );
    return { go: changePath(change_id) };
  });

  action(app, parts, { url: '/changes/:change/release', scope }, async ({ api, params }) => {
    const change_id = params.change ?? '';
    need(await api.POST('/v1/employee-changes/{change_id}/release', { params: { path: { change_id } } }));
    return { go: changePath(change_id) };
  });
}

/** Renders the actions that the API would accept; null when there are none. Refreshes keep what is typed until the state changes. */
export function decisions(
  { id, state, holding }: Schemas['EmployeeChangeSummary'],
  query: Readonly<Record<string, string>>,
): Html | null {
  if (state !== 'rejected' && state !== 'pending') return null;
  const path = changePath(id);
  const isRejected = state === 'rejected';
  const isNewerDelivered = isRejected && query.newer !== undefined;
  return html`
    <section class="card" id=${`decide-${state}`} hx-morph-skip aria-labelledby="decide">
      <h2 id="decide">Actions</h2>
      ${!isRejected && html`<p>No action is needed. Cancel the change only if the service must not receive it.</p>`}
      ${isNewerDelivered && newerDelivered(path)}
      ${
        isRejected &&
        !isNewerDelivered &&
        html`
          <form class="decision" hx-post=${`${path}/retry`}>
            <button type="submit">Retry</button>
            <p class="hint">Use this after the problem was fixed at the service. It is sent before the changes that wait for it.</p>
          </form>
        `
      }
      ${
        holding &&
        html`
          <form class="decision" hx-post=${`${path}/release`}>
            <button type="submit" class="quiet">Release waiting changes</button>
            <p class="hint">Use this if the service already knows the employee. This hire stays rejected, and the later changes are sent.</p>
          </form>
        `
      }
      <form class="decision" hx-post=${`${path}/cancel`}>
        <div class="field">
          <label for="reason">Reason for canceling</label>
          <input id="reason" name="reason" required maxlength=${REASON_MAX_CHARACTERS} autocomplete="off" />
        </div>
        <button type="submit" class="danger">Cancel the change</button>
        <p class="hint">
          The change will not be sent, and its contents are deleted. Changes that wait for it are sent. The roster keeps what the change reported; to correct it, report a new change.
        </p>
      </form>
    </section>
  `;
}

function newerDelivered(path: string): Html {
  return html`
    <div class="problem" role="alert">
      <p><strong>Not retried: a newer change of this employee was delivered.</strong></p>
      <p>Sending this older change now could undo the newer one. Usually it is right to cancel it and report a new change if needed.</p>
      <form hx-post=${`${path}/retry`}>
        <input type="hidden" name="force" value="true" />
        <button type="submit" class="danger">Retry anyway</button>
      </form>
    </div>
  `;
}
