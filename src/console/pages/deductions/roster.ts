/** What the roster knows of an employee, and how it came to know it. */
import type { Schemas } from '../../../client.ts';
import { employerLink, idLink } from '../../elements/links.ts';
import { plain } from '../../elements/plain.ts';
import { state, type Tone } from '../../elements/state.ts';
import { table } from '../../elements/table.ts';
import { instant } from '../../elements/time.ts';
import { type Content, type Html, html } from '../../html.ts';
import { changePath } from '../changes/words.ts';

export type Fact = Schemas['Employee']['roster'][number];

/** Facts shown at first; an employee rarely has more. */
const FACTS_SHOWN = 50;

const NAMES = {
  hire_date: 'first day',
  termination_date: 'last day',
  employment_status: 'status',
  pay_frequency: 'paid',
  pay_group: 'pay group',
} as const satisfies Partial<Record<keyof Fact, string>>;

/** The newest fact of each employer: what counts now. */
export function employments(facts: readonly Fact[], today: string): Html {
  const newest = [...new Map(facts.map((fact) => [fact.employer_id, fact])).values()];
  return table({
    caption: 'Employment now',
    columns: [
      { title: 'Employer', kind: 'name', cell: ({ employer_id }: Fact) => employerLink(employer_id) },
      { title: 'Spell', cell: (fact) => spellOf(fact, today) },
      { title: 'First day', kind: 'date', cell: ({ hire_date }) => hire_date ?? 'not known' },
      { title: 'Last day', kind: 'date', cell: lastDay },
      { title: 'Status', cell: ({ employment_status }) => plain(employment_status ?? 'not known') },
      { title: 'Paid', cell: ({ pay_frequency }) => pay_frequency ?? 'not known' },
      { title: 'Pay group', cell: ({ pay_group }) => pay_group ?? 'none' },
    ],
    rows: newest,
  });
}

/** A last day before the first one is of an earlier spell: the employee was hired again. */
function isEarlier({ hire_date, termination_date }: Fact): boolean {
  return hire_date !== null && termination_date !== null && termination_date < hire_date;
}

function lastDay(fact: Fact): string {
  if (fact.termination_date === null) return 'open';
  return isEarlier(fact) ? `open (an earlier spell ended ${fact.termination_date})` : fact.termination_date;
}

function spellOf(fact: Fact, today: string): Html {
  const [word, tone]: [string, Tone] = fact.absent
    ? ['not in the newest census', 'warn']
    : fact.hire_date !== null && today < fact.hire_date
      ? ['begins later', 'plain']
      : fact.termination_date !== null && fact.termination_date < today && !isEarlier(fact)
        ? ['ended', 'plain']
        : ['employed', 'good'];
  return state(word, tone);
}

/** Every fact, the newest first; `all` of them, or those that somebody looks for first. `path`: where all are shown. */
export function rosterTable(
  facts: readonly Fact[],
  { path, all, mayChanges }: { path: string; all: boolean; mayChanges: boolean },
): Html {
  const rows = facts
    .map((fact, index) => {
      const before = facts.slice(0, index).findLast(({ employer_id }) => employer_id === fact.employer_id);
      return { fact, news: newsOf(fact, before ?? null) };
    })
    .toReversed();
  const shown = all ? rows : rows.slice(0, FACTS_SHOWN);
  return html`
    <section>
      ${table({
        caption: 'How the roster learned of it, the newest first',
        columns: [
          { title: 'Position', kind: 'number', cell: ({ fact }: (typeof rows)[number]) => fact.position },
          { title: 'Employer', kind: 'name', cell: ({ fact }) => fact.employer_id },
          { title: 'What was new', cell: ({ news }) => newsList(news) },
          { title: 'Source', cell: ({ fact }) => sourceOf(fact, mayChanges) },
          { title: 'Recorded', kind: 'date', cell: ({ fact }) => instant(fact.recorded_at) },
        ],
        rows: shown,
      })}
      ${shown.length < rows.length && html`<p><a href=${`${path}?roster=all`}>${`Show all ${rows.length}`}</a></p>`}
    </section>
  `;
}

type News = { readonly what: string; readonly before: string | null; readonly after: string };

/** What a fact says otherwise than the one before it of the same employer. */
function newsOf(fact: Fact, before: Fact | null): News[] {
  const fields = (Object.keys(NAMES) as (keyof typeof NAMES)[]).flatMap((field) => {
    const [one, other] = [before?.[field] ?? null, fact[field]];
    const isNews = before === null ? other !== null : one !== other;
    return isNews
      ? [{ what: NAMES[field], before: one === null ? null : plain(one), after: plain(other ?? 'none') }]
      : [];
  });
  const absence =
    fact.absent === (before?.absent ?? false)
      ? []
      : [
          {
            what: 'census',
            before: null,
            after: fact.absent ? 'without the employee' : 'with the employee again',
          },
        ];
  return [...fields, ...absence];
}

function newsList(news: readonly News[]): Content {
  if (news.length === 0) return html`<span class="soft">employed there, and no more</span>`;
  return html`
    <ul class="changed">
      ${news.map(({ what, before, after }) =>
        before === null
          ? html`<li>${`${what}: ${after}`}</li>`
          : html`<li>${`${what}: `}<del>${before}</del>${' '}<span aria-hidden="true">→</span>${' '}<ins>${after}</ins></li>`,
      )}
    </ul>
  `;
}

/** A census is known by its id alone; a change has a page. */
function sourceOf({ source, source_id }: Fact, mayChanges: boolean): Html {
  return html`
    <span>
      ${`${source} `}${idLink(source === 'census' || !mayChanges ? null : changePath(source_id), source_id)}
    </span>
  `;
}
