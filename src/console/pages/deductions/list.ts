/** The ledger: every deduction, narrowed by filters that stand in the address. */
import type { FastifyInstance } from 'fastify';
import { isDay } from '../../../contract/instant.ts';
import { command, empty } from '../../elements/empty.ts';
import { address, PAGE_ROWS, pager } from '../../elements/pager.ts';
import { type Html, html } from '../../html.ts';
import { need } from '../../own-api.ts';
import { page } from '../../page.ts';
import type { ConsoleParts } from '../../parts.ts';
import { deductionTable } from './deduction-table.ts';
import { whatToDoAbout } from './employer.ts';
import { FILTERS, filterForm, LEDGER_PATH, type Query } from './filter-form.ts';
import { findForm } from './find.ts';
import { lookBack } from './then-form.ts';

export function ledgerListPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: LEDGER_PATH, scope: 'ledger:read' }, async ({ api, query: given, now }) => {
    const query = Object.fromEntries(
      [...FILTERS, 'cursor'].flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
    ) as Query;
    // In an address all is text; what the API can't use of it, it refuses by name.
    const asked = { ...query, limit: PAGE_ROWS } as unknown as { limit: number };
    const { data, next_cursor } = need(await api.GET('/v1/deductions', { params: { query: asked } }));
    const today = now.toISOString().slice(0, 10);
    const isNew = data.length === 0 && next_cursor === null && Object.keys(query).length === 0;
    if (isNew) return { title: 'Ledger', place: 'ledger', body: firstSteps() };
    const day = query.on !== undefined && isDay(query.on) ? query.on : today;
    return {
      title: 'Ledger',
      place: 'ledger',
      body: html`
        <div>
          ${findForm()}
          ${filterForm(query)}
          ${lookBack(query, today)}
          ${query.known_at === undefined && whatToDoAbout(data)}
          ${data.length > 0 ? deductionTable(data, { caption: 'Deductions, by employee', day }) : next_cursor === null && nothing(query)}
          ${data.length < PAGE_ROWS && next_cursor !== null && goesOn()}
          ${pager(LEDGER_PATH, query, next_cursor)}
        </div>
      `,
    };
  });
}

function nothing({ cursor, ...filters }: Query): Html {
  if (cursor !== undefined) return empty('That was all: the list ends here');
  const { on, known_at, ...others } = filters;
  const isPast = on !== undefined || known_at !== undefined;
  return empty(
    isPast ? 'No deduction passes the filters at that time' : 'No deduction passes the filters',
    html`
      <p>
        ${'All given must hold. '}<a href=${LEDGER_PATH}>Show all deductions</a>
        ${isPast && Object.keys(others).length > 0 && html`<span>${', or '}<a href=${address(LEDGER_PATH, others)}>those of today with the same filters</a></span>`}
      </p>
    `,
  );
}

/** A page ends after a bounded time, also where few pass. */
function goesOn(): Html {
  return html`<p class="hint">Few deductions pass these filters: this page has looked through a part of the ledger, and the next page goes on. An employer or employee id makes it quick.</p>`;
}

function firstSteps(): Html {
  return empty(
    'No deductions yet',
    html`
      <div>
        <p>
          ${'They come as signed webhooks. In the benefits service’s portal, register the address of this sidecar’s public listener, followed by '}<code>/webhooks</code>${', and set the secret that you get there as '}<code>WEBHOOK_SECRETS</code>.
        </p>
        <p>To begin with what payroll deducts today, import it as a table:</p>
        ${command('benefits-sidecar import deductions FILE')}
        <p>To see how it looks, post sample events to the running sandbox:</p>
        ${command('benefits-sidecar replay fixtures/events')}
      </div>
    `,
  );
}
