/** The two questions of time that the ledger answers, as fields: a day, and an instant up to which it knows. */
import { toMilliseconds } from '../../../api/schemas.ts';
import { isDay, toInstant } from '../../../contract/instant.ts';
import { textField } from '../../elements/field.ts';
import { instant } from '../../elements/time.ts';
import { type Html, html } from '../../html.ts';

/** What stands in an address. */
export type Asked = Readonly<Partial<Record<'on' | 'known_at', string>>>;

/** `on` and `known_at` of an address, for the API, which says what is wrong with others. */
export function thenOf({ on, known_at }: Asked): { on?: string; known_at?: string } {
  return { ...(on !== undefined && { on }), ...(known_at !== undefined && { known_at }) };
}

/** `known_at` as the ledger writes instants, in milliseconds UTC; null where none, or none that is one. */
export function knownAtOf({ known_at }: Asked): string | null {
  return known_at !== undefined && toInstant(known_at) !== null ? toMilliseconds(known_at) : null;
}

/** The fields for both. */
export function thenFields(asked: Asked): Html[] {
  return [
    textField({
      name: 'on',
      label: 'On',
      type: 'date',
      value: asked.on ?? '',
      hint: 'What is in effect on this day. Empty: the latest state, also of what ended.',
    }),
    textField({
      name: 'known_at',
      label: 'As known at (UTC)',
      type: 'datetime-local',
      value: fieldTime(asked),
      hint: 'Only what the ledger had learned by this time. Empty: all of it.',
    }),
  ];
}

/** As the browser's own field writes it: without an offset, which the API takes as UTC. */
function fieldTime(asked: Asked): string {
  return knownAtOf(asked)?.replace(/(:00)?\.000Z$|Z$/, '') ?? '';
}

/** Says that what is shown is not the ledger of today; null when it is. */
export function lookBack(asked: Asked, today: string): Html | null {
  const [on, knownAt] = [asked.on !== undefined && isDay(asked.on) ? asked.on : null, knownAtOf(asked)];
  if (on === null && knownAt === null) return null;
  const when = on === null || on === today ? '' : on < today ? 'A look into the past' : 'A look ahead';
  const title = knownAt === null ? when || 'Today' : 'A look into the past';
  return html`
    <p class="notice" role="note">
      <strong>${`${title}: `}</strong>
      ${on === null ? 'the latest state of each deduction' : html`<span>${'what is in effect on '}<time datetime=${on}>${on}</time></span>`}
      ${knownAt !== null && html`<span>${', from what the ledger knew at '}${instant(knownAt)}</span>`}
      ${'. Empty the fields for today’s.'}
    </p>
  `;
}
