/** The ledger: every deduction, with filters that are kept in the address. */
import type { FastifyInstance } from 'fastify';
import { toMilliseconds } from '../../../api/schemas.ts';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../../contract/deduction.ts';
import { isDay, toInstant } from '../../../contract/instant.ts';
import { defined, need } from '../../api-client.ts';
import { empty } from '../../elements/facts.ts';
import { ANY, type Choice, selectField, textField } from '../../elements/fields.ts';
import { instant, plain } from '../../elements/format.ts';
import { address } from '../../elements/links.ts';
import { PAGE_ROWS, pager } from '../../elements/table.ts';
import { type Html, html } from '../../html.ts';
import { type ConsoleParts, page } from '../../page.ts';
import { findForm } from './find.ts';
import { deductionTable, employerAdviceFor } from './terms.ts';

const LEDGER_PATH = '/ledger';
const FILTERS = [
  'employer_id',
  'employee_id',
  'line_of_coverage',
  'taxability',
  'matched',
  'on',
  'known_at',
] as const;
type Query = Readonly<Partial<Record<(typeof FILTERS)[number] | 'cursor', string>>>;

const LINES = LINES_OF_COVERAGE.map((value): Choice => ({ value, label: plain(value) }));
const TAXABILITY = TAXABILITIES.map((value): Choice => ({ value, label: plain(value) }));
const MATCHED: readonly Choice[] = [
  { value: 'true', label: 'in the roster' },
  { value: 'false', label: 'not in the roster' },
];

/** A point in time that the user asks about: a day, and what the ledger knew. */
export type Asked = Readonly<Partial<Record<'on' | 'known_at', string>>>;

export function ledgerListPages(app: FastifyInstance, parts: ConsoleParts): void {
  page(app, parts, { url: LEDGER_PATH, scope: 'ledger:read' }, async ({ api, query: given, now }) => {
    const query = Object.fromEntries(
      [...FILTERS, 'cursor'].flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
    ) as Query;
    // The API validates the values and names the wrong ones.
    const list = { ...query, limit: PAGE_ROWS } as unknown as { limit: number };
    const { data, next_cursor } = need(await api.GET('/v1/deductions', { params: { query: list } }));
    const today = now.toISOString().slice(0, 10);
    const isNew = data.length === 0 && next_cursor === null && Object.keys(query).length === 0;
    if (isNew) return { title: 'Ledger', place: 'ledger', body: firstSteps() };
    const day = query.on !== undefined && isDay(query.on) ? query.on : today;
    return {
      title: 'Ledger',
      place: 'ledger',
      body: html`
        ${findForm()}
        ${filters(query)}
        ${timeNotice(query, today)}
        ${query.known_at === undefined && employerAdviceFor(data)}
        ${data.length > 0 ? deductionTable(data, { caption: 'Deductions by employee', day }) : next_cursor === null && nothing(query)}
        ${data.length < PAGE_ROWS && next_cursor !== null && html`<p class="hint">Few deductions match, so this page covers only part of the ledger. The next page continues. Add an employer or employee ID to search faster.</p>`}
        ${pager(LEDGER_PATH, query, next_cursor)}
      `,
    };
  });
}

/** The filters are closed until one is set: they fill the screen of a phone. */
function filters(query: Query): Html {
  const active = activeFilters(query);
  const given = (name: (typeof FILTERS)[number]) => ({ name, value: query[name] ?? '' });
  return html`
    <details class="card" open=${active.length > 0}>
      <summary>${active.length > 0 ? `Filters: ${active.join(', ')}` : 'Filters'}</summary>
      <form method="get" action=${LEDGER_PATH} class="filters" aria-label="Filters">
      ${textField({ ...given('employer_id'), label: 'Employer ID' })}
      ${textField({ ...given('employee_id'), label: 'Employee ID' })}
      ${selectField({ ...given('line_of_coverage'), label: 'Line of coverage', choices: [ANY, ...LINES] })}
      ${selectField({ ...given('taxability'), label: 'Taxability', choices: [ANY, ...TAXABILITY] })}
      ${selectField({ ...given('matched'), label: 'Employee', choices: [ANY, ...MATCHED], hint: 'Whether a census or a reported hire contains the employee.' })}
      ${askedFields(query)}
      <div class="actions">
        <button type="submit">Show</button>
        ${active.length > 0 && html`<a class="button quiet" href=${LEDGER_PATH}>Clear</a>`}
      </div>
      </form>
    </details>
  `;
}

function activeFilters(query: Query): string[] {
  const { employer_id, employee_id, line_of_coverage, taxability, matched, on, known_at } = query;
  return [
    employer_id !== undefined && `employer ${employer_id}`,
    employee_id !== undefined && `employee ${employee_id}`,
    line_of_coverage !== undefined && plain(line_of_coverage),
    taxability !== undefined && plain(taxability),
    matched !== undefined && (MATCHED.find(({ value }) => value === matched)?.label ?? matched),
    on !== undefined && `on ${on}`,
    known_at !== undefined && `as known at ${known_at}`,
  ].filter((one) => one !== false);
}

function nothing({ cursor, ...query }: Query): Html {
  if (cursor !== undefined) return empty('No more deductions');
  const { on, known_at, ...others } = query;
  const isPast = on !== undefined || known_at !== undefined;
  return empty(
    isPast ? 'No matching deductions at that time' : 'No matching deductions',
    html`
      <p>
        <a href=${LEDGER_PATH}>Show all deductions</a>
        ${isPast && Object.keys(others).length > 0 && html`<span>${', or '}<a href=${address(LEDGER_PATH, others)}>today’s deductions with the same filters</a></span>`}
      </p>
    `,
  );
}

function firstSteps(): Html {
  return empty(
    'No deductions yet',
    html`<p>${'They arrive as signed webhooks. Register the public address of this sidecar, followed by '}<code>/webhooks</code>${', in the benefits service’s portal, and set the signing secret from the portal as '}<code>WEBHOOK_SECRETS</code>.</p>`,
  );
}

/** Returns `on` and `known_at` for the API, which validates them. */
export function askedQuery({ on, known_at }: Asked): { on?: string; known_at?: string } {
  return defined({ on, known_at });
}

/** Returns `known_at` in the ledger's notation (milliseconds UTC); null when absent or invalid. */
export function knownAtOf({ known_at }: Asked): string | null {
  return known_at !== undefined && toInstant(known_at) !== null ? toMilliseconds(known_at) : null;
}

export function askedFields(asked: Asked): Html[] {
  return [
    textField({
      name: 'on',
      label: 'In effect on',
      type: 'date',
      value: asked.on ?? '',
      hint: 'Leave empty for the latest state, including ended deductions.',
    }),
    textField({
      name: 'known_at',
      label: 'As known at (UTC)',
      type: 'datetime-local',
      value: knownAtOf(asked)?.replace(/(:00)?\.000Z$|Z$/, '') ?? '',
      hint: 'Shows what the ledger knew at this time. Leave empty for now.',
    }),
  ];
}

/** Reports that the list is not today's; null when it is. */
function timeNotice(asked: Asked, today: string): Html | null {
  const on = asked.on !== undefined && isDay(asked.on) ? asked.on : null;
  const knownAt = knownAtOf(asked);
  if (on === null && knownAt === null) return null;
  const title =
    knownAt !== null || (on !== null && on < today) ? 'Past state' : on === today ? 'Today' : 'Future state';
  return html`
    <p class="notice" role="note">
      <strong>${`${title}: `}</strong>
      ${on === null ? 'the latest state of each deduction' : html`<span>${'deductions in effect on '}<time datetime=${on}>${on}</time></span>`}
      ${knownAt !== null && html`<span>${', as known at '}${instant(knownAt)}</span>`}.
    </p>
  `;
}
