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
export type Employment = Schemas['Employee']['employments'][number];
type Spell = Employment['spells'][number];

/** Facts shown at first; an employee rarely has more. */
const FACTS_SHOWN = 50;

const NAMES = {
  hire_date: 'first day',
  termination_date: 'last day',
  employment_status: 'status',
  pay_frequency: 'paid',
  pay_group: 'pay group',
  effective_on: 'effective',
} as const satisfies Partial<Record<keyof Fact, string>>;

/** Every spell of each employment, with what is in force today. */
export function employments(list: readonly Employment[], today: string): Html {
  const rows = list.flatMap((employment) => employment.spells.map((spell) => ({ employment, spell })));
  return table({
    caption: 'Employment now',
    columns: [
      {
        title: 'Employer',
        kind: 'name',
        cell: ({ employment }: (typeof rows)[number]) => employerLink(employment.employer_id),
      },
      { title: 'Spell', cell: (row) => spellOf(row, today) },
      { title: 'First day', kind: 'date', cell: ({ spell }) => spell.hire_date ?? 'not known' },
      { title: 'Last day', kind: 'date', cell: ({ spell }) => lastDay(spell) },
      { title: 'Status', cell: ({ employment }) => plain(employment.employment_status ?? 'not known') },
      { title: 'Paid', cell: ({ employment }) => employment.pay_frequency ?? 'not known' },
      { title: 'Pay group', cell: ({ employment }) => employment.pay_group ?? 'none' },
    ],
    rows,
  });
}

function lastDay({ termination_date, contradicted_on }: Spell): string {
  if (contradicted_on !== null) return `open (a census of ${contradicted_on} canceled a termination)`;
  return termination_date ?? 'open';
}

function spellOf({ employment, spell }: { employment: Employment; spell: Spell }, today: string): Html {
  const { hire_date, termination_date } = spell;
  const [word, tone]: [string, Tone] =
    hire_date !== null && today < hire_date
      ? ['begins later', 'plain']
      : termination_date !== null && termination_date < today
        ? ['ended', 'plain']
        : employment.absent
          ? ['not in the newest census', 'warn']
          : ['employed', 'good'];
  return state(word, tone);
}

/** Every report, newest first: `all` of them or the first `FACTS_SHOWN`. `path`: where all are shown. */
export function rosterTable(
  facts: readonly Fact[],
  { path, all, mayChanges }: { path: string; all: boolean; mayChanges: boolean },
): Html {
  const rows = facts.map((fact, index) => ({ fact, news: newsOf(fact, facts.slice(0, index)) })).toReversed();
  const shown = all ? rows : rows.slice(0, FACTS_SHOWN);
  return html`
    <section>
      ${table({
        caption: 'Roster reports, newest first',
        columns: [
          { title: 'Position', kind: 'number', cell: ({ fact }: (typeof rows)[number]) => fact.position },
          { title: 'Employer', kind: 'name', cell: ({ fact }) => fact.employer_id },
          { title: 'Reported', cell: ({ news }) => newsList(news) },
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

/** Returns what a report states that differs from what the employer's reports before it stated last. */
function newsOf(fact: Fact, earlier: readonly Fact[]): News[] {
  const known = earlier.filter(({ employer_id }) => employer_id === fact.employer_id);
  const lastOf = <K extends keyof Fact>(field: K) =>
    known.findLast((one) => one[field] !== null)?.[field] ?? null;
  const fields = (Object.keys(NAMES) as (keyof typeof NAMES)[]).flatMap((field) => {
    const [before, after] = [field === 'effective_on' ? null : lastOf(field), fact[field]];
    if (after === null || after === before) return [];
    return [{ what: NAMES[field], before: before === null ? null : plain(before), after: plain(after) }];
  });
  if (fact.absent === null || fact.absent === (lastOf('absent') ?? false)) return fields;
  const after = fact.absent ? 'without the employee' : 'with the employee again';
  return [...fields, { what: 'census', before: null, after }];
}

function newsList(news: readonly News[]): Content {
  if (news.length === 0) return html`<span class="soft">nothing new</span>`;
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
