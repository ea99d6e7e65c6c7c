/** The words of events: their types, effects, and consequences for paychecks. */
import type { ResultOf, RowOf } from '../../../api/operation.ts';
import type { getEvent, listEvents } from '../../../api/operations/events.ts';
import {
  CENSUS_SYNC_COMPLETE,
  CENSUS_SYNC_REQUEST,
  DEDUCTION_CREATED,
  DEDUCTION_UPDATED,
} from '../../../contract/events.ts';
import type { Tone } from '../../elements/facts.ts';
import { dayOf, dayText, money, plain } from '../../elements/format.ts';
import { nameIn } from '../../elements/links.ts';
import { type Content, html } from '../../html.ts';

type Event = ResultOf<typeof getEvent>;
type Summary = RowOf<typeof listEvents>;
type Days = NonNullable<Summary['in_effect']>;

/** Explains what to set up so that events arrive. */
export const REGISTRATION = html`
  <span>
    ${'Register the public address of this sidecar, followed by '}<code>/webhooks</code>${', in the benefits service’s portal. Set the signing secret from the portal as '}<code>WEBHOOK_SECRETS</code>${', then send a test event.'}
  </span>
`;

const TYPES: Readonly<Record<string, string>> = {
  [DEDUCTION_UPDATED]: 'deduction',
  [DEDUCTION_CREATED]: 'deduction',
  [CENSUS_SYNC_REQUEST]: 'census request',
  [CENSUS_SYNC_COMPLETE]: 'census completed',
};

/** Names a type in words; a type that is not handled keeps its own name. */
export function typeName(type: string): string {
  return TYPES[type] ?? type;
}

const EFFECTS: Readonly<Record<Summary['effect'], readonly [label: string, tone: Tone]>> = {
  pending: ['pending: not applied yet', 'plain'],
  applied: ['applied', 'good'],
  replaced: ['replaced', 'plain'],
  late: ['late: no effect', 'plain'],
  no_effect: ['no effect', 'plain'],
  sync_requested: ['applied: census requested', 'good'],
  sync_completed: ['applied: census completed', 'good'],
  not_applied: ['quarantined: not applied', 'bad'],
  ignored: ['ignored: no effect', 'plain'],
};

/** Returns the effect in two or three words. A quarantined event that was dismissed needs no action. */
export function effectLabel({ effect, dismissed_at }: Summary): [string, Tone] {
  const [label, tone] = EFFECTS[effect];
  return [label, dismissed_at === null ? tone : 'plain'];
}

/** Returns what an event means for paychecks, in one or two sentences. */
export function consequence(event: Event, today: string): Content {
  const { effect, subject, in_effect, reason, event_type } = event;
  switch (effect) {
    case 'pending':
      return 'Paychecks do not include this event yet. It is applied within seconds.';
    case 'not_applied':
      return notApplied(event);
    case 'late':
      return 'No paycheck changes: a newer event of the same deduction had arrived before.';
    case 'no_effect':
      return 'No paycheck changes: the deduction ends before it starts, or before 2000.';
    case 'ignored':
      return `No paycheck changes: ${reason ?? `events of type ${event_type} are not handled`}.`;
    case 'sync_requested':
      return ['No paycheck changes: the benefits service requested the census', ofEmployer(event), '.'];
    case 'sync_completed':
      return [
        'No paycheck changes: the benefits service has read the census',
        ofEmployer(event),
        '. Deductions may follow.',
      ];
    default: {
      if (in_effect === null)
        return 'No paycheck is computed from it any more: a newer event of the deduction replaced it.';
      const replaced = effect === 'replaced' ? ' A newer event of the deduction replaces it.' : '';
      if (subject === null)
        return `Payroll ${deducts(in_effect, today)} what this event states${span(in_effect)}.${replaced}`;
      return [
        `Payroll ${deducts(in_effect, today)} ${amountOf(subject)} from `,
        employeeIn(subject),
        ` for ${coverageOf(subject)}${span(in_effect)}.${replaced}`,
      ];
    }
  }
}

type Subject = NonNullable<Summary['subject']>;

function amountOf({ member_contribution, period }: Pick<Subject, 'member_contribution' | 'period'>): string {
  return [money(member_contribution), period].filter((part) => part !== null).join(' ');
}

function coverageOf({ line_of_coverage }: Subject): string {
  return plain(line_of_coverage ?? 'an unknown line of coverage');
}

function ofEmployer({ subject, effects }: Event): Content {
  const employer = effects.census_sync?.employer_id ?? subject?.employer_id;
  return employer == null ? '' : [' of ', nameIn('employer', employer)];
}

function employeeIn({ employee_id }: { readonly employee_id: string | null }): Content {
  return employee_id === null ? 'an unknown employee' : nameIn('employee', employee_id);
}

function deducts({ from, until }: Days, today: string): string {
  if (until !== null && until < today) return 'deducted';
  return from !== null && from > today ? 'will deduct' : 'deducts';
}

/** ` from Jul 1, 2026 on`, ` from Jul 1, 2026 through Dec 31, 2026`; empty without dates. */
function span({ from, until }: Days): string {
  const start = from === null ? '' : ` from ${dayText(from)}`;
  if (until !== null) return `${start} through ${dayText(until)}`;
  return from === null ? '' : `${start} on`;
}

function notApplied({ subject, unapplied, next_step, dismissed_at, event_type }: Event): Content {
  if (dismissed_at !== null) return 'No paycheck changes: this event could not be applied and was dismissed.';
  if (next_step === 'dismiss')
    return 'No paycheck depends on this event: a newer event of the same deduction was applied.';
  if (event_type === CENSUS_SYNC_REQUEST || event_type === CENSUS_SYNC_COMPLETE)
    return 'No paycheck changes, but a census sync is missing: this event could not be applied.';
  if (unapplied === null || subject === null) {
    return subject?.employee_id == null
      ? 'Paychecks may miss a change: this event could not be applied.'
      : ['Paychecks of ', employeeIn(subject), ' may miss a change: this event could not be applied.'];
  }
  const { current_member_contribution: current, member_contribution } = unapplied;
  const coverage = plain(unapplied.line_of_coverage);
  const change = member_contribution === null ? 'the change' : `the change to ${amountOf(subject)}`;
  const now =
    current === null
      ? `take nothing for ${coverage} yet`
      : `are still computed from ${money(current)} for ${coverage}`;
  return ['Paychecks of ', employeeIn(unapplied), ` ${now}: ${change} in this event is not applied.`];
}

/** Returns what to write to the benefits service about an event that it must correct; null for other events. */
export function messageFor(event: Event): string | null {
  const { id, envelope_id, next_step, effect, reason, received_at, subject } = event;
  if (next_step !== 'correct' || effect !== 'not_applied') return null;
  const deduction = subject?.deduction_id == null ? '' : ` for deduction ${subject.deduction_id}`;
  const envelope = envelope_id === null ? '' : `, ID in the body ${envelope_id},`;
  return `Your event ${id}${envelope}${deduction}, received ${received_at}, cannot be applied: ${reason}.${sentValue(event)} Please send a corrected event.`;
}

/** A value that is quoted: a longer one is in the body. */
const QUOTED_MAX = 60;

/** Returns the value that the reason is about, as in `data.period: must be …`; empty if it cannot be read. */
function sentValue({ reason, body }: Event): string {
  const [, field] = /^data\.(\w+)[:\s]/.exec(reason ?? '') ?? [];
  const value = field === undefined ? undefined : sentField(body, field);
  const isShort = typeof value === 'number' || (typeof value === 'string' && value.length <= QUOTED_MAX);
  return isShort ? ` It contains ${JSON.stringify(value)}.` : '';
}

/** Returns a day that an event contains, also one that could not be applied; as it was sent if it is no date. */
export function dayIn({ body }: Pick<Event, 'body'>, field: 'effective_start' | 'effective_end'): Content {
  const value = sentField(body, field);
  if (typeof value !== 'string') return null;
  const [, day] = /^(\d{4}-(?:0[1-9]|1[0-2])-\d\d)(?:T00:00:00(?:\.0+)?Z)?$/.exec(value) ?? [];
  return day === undefined ? value.slice(0, QUOTED_MAX) : dayOf(day);
}

/** Returns a field of the data in a body; undefined if it cannot be read. */
function sentField(body: string | null, field: string): unknown {
  try {
    return body === null ? undefined : JSON.parse(body).data?.[field];
  } catch {
    return undefined;
  }
}

/** Returns the advice for the next step of an event; null without one. */
export function advice({ next_step, effect }: Event): string | null {
  switch (next_step) {
    case 'reprocess':
      return 'The event can be applied now. Reprocess it.';
    case 'dismiss':
      return 'Dismiss it, so that readiness no longer reports it.';
    case 'compare':
      return 'Contents contradict each other. Compare the bodies and versions, then dismiss the event.';
    case 'correct':
      return effect === 'not_applied'
        ? 'Ask the benefits service to send a corrected event. Dismiss this one only after the corrected event is applied. A run that is finalized before then uses the earlier amounts, and the difference becomes an open item.'
        : 'Its time is in the future, so later events of the deduction take no effect until then. Ask the benefits service to correct it, then dismiss it.';
    default:
      return null;
  }
}
