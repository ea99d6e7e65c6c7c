/** Signed bodies, each with its resulting state and exact reason. test/contract has the rules of each field. */
import type { EventState } from '../../src/database/tables.ts';
import { deductionBody, syncBody } from './bodies.ts';

type Case = {
  name: string;
  body: string | Buffer;
  state: Exclude<EventState, 'pending'>;
  reason: string | null;
};

/** Used where a value could be personal. No reason may contain it. */
export const CANARY = 'canary-123-45-6789';

const AMOUNT = 'must be a plain decimal number as a string, at most 40 digits on each side of the point';

function nested(levels: number): string {
  return `{"event_type":"x","data":${'{"a":'.repeat(levels - 1)}1${'}'.repeat(levels)}`;
}

/** The sample deduction event with one raw JSON value in place of the member's amount. */
function withAmount(json: string): string {
  return deductionBody({ member_contribution: 'AMOUNT' }).replace('"AMOUNT"', json);
}

/** A date-time of 21 characters and some digits of a second. */
function withFraction(digits: number): string {
  return `2026-03-01T12:00:00.${'1'.repeat(digits)}Z`;
}

type Bodies = Record<string, string | Buffer>;

const cases = (state: Case['state'], reason: string | null, bodies: Bodies): Case[] =>
  Object.entries(bodies).map(([name, body]) => ({ name, body, state, reason }));

const quarantined = (reason: string, bodies: Bodies) => cases('quarantined', reason, bodies);

const AS_SENT = { effective_start: withFraction(43), effective_end: withFraction(43) };

export const CASES: Case[] = [
  ...quarantined('the body is not valid JSON', {
    'an empty body': '',
    'a text that is not JSON': CANARY,
    'another encoding': Buffer.from(`\ufeff${deductionBody()}`, 'utf16le'),
    'bytes that are not text': Buffer.of(0xff, 0xfe, 0x00),
  }),
  ...quarantined('must be an object', { 'a number': '1e400' }),
  ...quarantined('the body names a field twice in one object', {
    'an amount twice': withAmount(`"1","member_contribution":"${CANARY}"`),
  }),
  ...quarantined('the body has a field named __proto__', {
    '__proto__ in the data': '{"event_type":"x","data":{"\\u005f_proto__":{"polluted":true}}}',
  }),
  ...quarantined('the body has a NUL character in a string', {
    'NUL in a value': deductionBody({ description: `${CANARY}\0` }),
  }),
  ...quarantined('the body has half a surrogate pair in a string', {
    'a high half': deductionBody({ description: '\ud800' }),
  }),
  ...quarantined('the body is nested deeper than 32 levels', { '33 levels': nested(33) }),
  ...quarantined('event_type: is required; data: is required', { 'an empty object': '{}' }),
  ...quarantined('event_type: must be at most 255 characters', {
    'a long type': `{"event_type":"${'x'.repeat(256)}","data":{}}`,
  }),
  ...quarantined('id: must be at most 255 characters', {
    'an envelope id without end': deductionBody({}, { id: CANARY.repeat(20) }),
  }),
  ...quarantined('created_at: must be at most 64 characters', {
    'created_at of 65 characters': deductionBody({}, { created_at: withFraction(44) }),
  }),
  ...quarantined('data.effective_start: must be at most 64 characters', {
    'a start of 65 characters': deductionBody({ effective_start: withFraction(44) }),
  }),
  ...quarantined('data.effective_end: must be at most 64 characters', {
    'an end of 65 characters': deductionBody({ effective_end: withFraction(44) }),
  }),
  ...quarantined('data.description: must be at most 4000 characters', {
    'a description of 4,001 characters': deductionBody({ description: 'é'.repeat(4_001) }),
  }),
  ...quarantined(`data.member_contribution: ${AMOUNT}`, {
    'a number as an amount': withAmount('150.00'),
    'an object as an amount': withAmount(`{"${CANARY}":"${CANARY}"}`),
  }),
  ...quarantined('data.employer_id: must be a string', {
    'a sync with a number': syncBody('sync-complete', 1),
  }),
  ...cases('applied', null, {
    'the longest texts': deductionBody(
      { description: '🙂'.repeat(4_000), ...AS_SENT },
      { id: 'x'.repeat(255), created_at: withFraction(43) },
    ),
    'markup and controls in a description': deductionBody({ description: '<script>\u0001\u007f</script>' }),
    'unknown fields': deductionBody({ extra: [{}] }, { extra: null, constructor: 'x' }),
    'no created_at': deductionBody({}, { created_at: undefined }),
    'no envelope id': deductionBody({}, { id: undefined }),
    'white space around': ` \r\n\t${deductionBody()}\n`,
    'the deprecated type with a deduction': deductionBody({}, { event_type: 'employee.deduction-created' }),
    'a sync request': syncBody('sync-request'),
    'a sync complete': syncBody('sync-complete'),
  }),
  ...cases('ignored', 'the event type is deprecated and its data is not a deduction', {
    'the deprecated type with empty data': '{"event_type":"employee.deduction-created","data":{}}',
  }),
  ...cases('ignored', 'this event type is not handled', {
    'a type in capitals': deductionBody({}, { event_type: 'Employee.Deduction-Updated' }),
    'a type named as a method of objects': '{"event_type":"constructor","data":{}}',
    'the deepest nesting that is read': nested(32),
  }),
];
