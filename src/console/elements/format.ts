/** Formats counts, money, times and the contract's names for people. */
import type { RowOf } from '../../api/operation.ts';
import type { listAuditRecords } from '../../api/operations/audit.ts';
import { LINES_OF_COVERAGE, TAXABILITIES } from '../../contract/deduction.ts';
import { responseInWords } from '../../contract/responses.ts';
import { dollars } from '../../money.ts';
import { ROLE_NAMES, ROLES, type Scope } from '../../security/scopes.ts';
import { type Html, html } from '../html.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** A unit is used from two of it on, so that "1 d" never means 47 hours. */
const UNITS = [
  { ms: 24 * HOUR_MS, name: 'd' },
  { ms: HOUR_MS, name: 'h' },
  { ms: MINUTE_MS, name: 'min' },
] as const;

const ABBREVIATIONS: Readonly<Record<string, string>> = { fsa: 'FSA', hsa: 'HSA' };

/** Formats a count: `12,345`. */
export function count(value: number): string {
  return value.toLocaleString('en-US');
}

/** `1 line`, `2 lines`, `1,000 lines`. */
export function counted(number: number, singular: string, plural = `${singular}s`): string {
  return `${count(number)} ${number === 1 ? singular : plural}`;
}

/** Formats a decimal amount: `1205.27` as `$1,205.27`, `-4.00` as `−$4.00`. A missing one is a dash. */
export function money(amount: string | null | undefined): string {
  return amount === null || amount === undefined ? '–' : dollars(amount).replace(/^-/, '−');
}

/** Decimals that alignment makes space for. An amount may have 40, and would push a column out of the page. */
const ALIGNED_DECIMALS = 6;

/** Returns a formatter for the amounts of a column: figure spaces after shorter ones align them at the decimal point. */
export function alignedMoney(column: readonly string[]): (amount: string) => string {
  const decimalsOf = (amount: string) => amount.split('.')[1]?.length ?? 0;
  const widest = Math.min(ALIGNED_DECIMALS, Math.max(0, ...column.map(decimalsOf)));
  return (amount) => money(amount) + '\u2007'.repeat(Math.max(0, widest - Math.max(2, decimalsOf(amount))));
}

/** Formats a difference with its sign: `+$23.07`, `−$4.00`, `$0.00`. Null is empty: there is nothing to compare with. */
export function difference(amount: string | null): string {
  if (amount === null) return '';
  const size = dollars(amount.replace('-', ''));
  return Number(amount) === 0 ? size : `${amount.startsWith('-') ? '−' : '+'}${size}`;
}

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** Writes a day as people do: `Jul 17, 2026`. */
export function dayText(day: string): string {
  const [year, month, date] = day.split('-');
  return `${MONTHS[Number(month) - 1]} ${Number(date)}, ${year}`;
}

/** The same as an element; a missing day is a dash. */
export function dayOf(day: string | null): Html {
  if (day === null) return html`<span class="soft">–</span>`;
  return html`<time datetime=${day}>${dayText(day)}</time>`;
}

/** An amount in a sentence, as the API writes it, and not a part of an id. */
const AMOUNT = /(?<![\w.,$-])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)\.\d{2,}(?![\w%])/g;
const DAY = /(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])/g;
/** Names of the contract that are not words. */
const NAMES: ReadonlySet<string> = new Set([...LINES_OF_COVERAGE, ...TAXABILITIES]);
const NAME = /(?<![\w-])[a-z]+(?:_[a-z]+)+(?![\w-])/g;

/**
 * Writes the amounts, days and names in a sentence of the API as people do, and its checks as pay dates or paychecks:
 * `150.00 monthly; check 7 of 26` as `$150.00 monthly; pay date 7 of 26`.
 */
export function sentence(text: string): string {
  return text
    .replace(AMOUNT, (amount) => money(amount.replace('−', '-').replaceAll(',', '')))
    .replace(DAY, dayText)
    .replace(NAME, (name) => (NAMES.has(name) ? plain(name) : name))
    .replace(/\b[a-z]+\b/g, plain)
    .replace(/\bcheck(s?) (?=\d)/g, 'pay date$1 ')
    .replace(/\bcheck(s?)\b/g, 'paycheck$1');
}

/** Writes the result of an attempt to send a request of a kind: `no response was received: ECONNREFUSED` names the service. */
export function resultText(reason: string, kind: string): string {
  return capitalized(
    reason
      .replace(/^no response was received: (\w+)/, 'the benefits service did not respond ($1)')
      .replace(/^the service responded with (\d{3})$/, (_, status) => responseInWords(Number(status), kind)),
  );
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const EITHER = new Intl.ListFormat('en-US', { type: 'disjunction' });

/** States who can do what a user may not do: people with a role that has the scope. */
export function lacksScope(purpose: string, scope: Scope): string {
  const roles = ROLE_NAMES.filter((role) => (ROLES[role] as readonly Scope[]).includes(scope));
  const people = roles
    .filter((role) => role !== 'integration')
    .map((role) => `${/^[ao]/.test(role) ? 'an' : 'a'} ${role.replace('-', ' ')}`);
  return people.length === 0
    ? `${purpose}, ask an operator for a token with the scope ${scope}, which no role has.`
    : `${purpose}, ask ${EITHER.format(people)}: your token lacks the scope ${scope}.`;
}

/** Names an actor, and the user that a program said it acted for: `payroll, for dana@example.com`. */
export function actorName(actor: RowOf<typeof listAuditRecords>['actor'] | null): string | null {
  if (actor === null) return null;
  const { kind, name, acting_user } = actor;
  const who = kind === 'cli' ? `${name} (command line)` : name;
  return acting_user === null ? who : `${who}, for ${acting_user}`;
}

/** `dependent_care_fsa` as `dependent care FSA`, `pre_tax` as `pre-tax`. */
export function plain(name: string): string {
  const words = name.replace('_tax', '-tax').split('_');
  return words.map((word) => ABBREVIATIONS[word] ?? word).join(' ');
}

/** Renders the same as a term, with a capital letter. */
export function term(name: string): Html {
  return html`<span class="term">${plain(name)}</span>`;
}

/**
 * Renders a time as `Jan 31, 2026, 09:30:00 UTC`, or null as a dash. The page's script shows it in local time. An event's
 * time may be no instant; then it is shown as received.
 */
export function instant(text: string | null | undefined): Html {
  if (text === null || text === undefined) return html`<span class="soft">–</span>`;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) return html`<span>${text}</span>`;
  const day = `${MONTHS[at.getUTCMonth()]} ${at.getUTCDate()}, ${at.getUTCFullYear()}`;
  return html`<time class="instant" datetime=${text}>${`${day}, ${at.toISOString().slice(-13, -5)} UTC`}</time>`;
}

const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** Renders a text of the API with the instants in it as times. */
export function withInstants(text: string): Html {
  return html`<span>${text.split(INSTANT).map((part) => (INSTANT.test(part) ? instant(part) : part))}</span>`;
}

/** Renders the time of day of an instant as `09:30 UTC`; the page's script shows it in local time. */
export function clock(text: string): Html {
  return html`<time class="instant clock" datetime=${text}>${`${text.slice(11, 16)} UTC`}</time>`;
}

/** The same with its age. */
export function since(text: string | null | undefined, now: Date): Html {
  if (text === null || text === undefined) return instant(text);
  return html`<span>${instant(text)} <span class="soft">${`(${age(text, now)})`}</span></span>`;
}

/** `just now`, `12 s ago`, `3 min ago`, `in 5 h`. */
export function age(text: string, now: Date): string {
  const ms = now.getTime() - Date.parse(text);
  if (Math.abs(ms) < 1_000) return 'just now';
  const unit = UNITS.find((unit) => Math.abs(ms) >= 2 * unit.ms) ?? { ms: 1_000, name: 's' };
  const long = `${Math.floor(Math.abs(ms) / unit.ms)} ${unit.name}`;
  return ms < 0 ? `in ${long}` : `${long} ago`;
}

/** Returns names by id, with the ids of those that several have. */
export function distinctNames(names: ReadonlyMap<string, string>): Map<string, string> {
  const counts = new Map<string, number>();
  for (const name of names.values()) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map([...names].map(([id, name]) => [id, counts.get(name) === 1 ? name : `${name} (${id})`]));
}
