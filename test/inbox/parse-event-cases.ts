/** Signed bodies, each with its resulting state and exact reason. */
import { LINES_OF_COVERAGE } from '../../src/contract/deduction.ts';
import type { EventState } from '../../src/database/tables.ts';
import { deductionBody, syncBody } from './bodies.ts';

export type Case = {
  name: string;
  body: string | Buffer;
  state: Exclude<EventState, 'pending'>;
  reason: string | null;
};

/** Used where a value could be personal. No reason may contain it. */
export const CANARY = 'canary-123-45-6789';

const NOT_JSON = 'the body is not valid JSON';
const TWICE = 'the body names a field twice in one object';
const PROTO = 'the body has a field named __proto__';
const NUL = 'the body has a NUL character in a string';
const HALF = 'the body has half a surrogate pair in a string';
const DEEP = 'the body is nested deeper than 32 levels';
const AMOUNT = 'must be a plain decimal number as a string, at most 40 digits on each side of the point';
const MEMBER = `data.member_contribution: ${AMOUNT}`;
const INSTANT = 'created_at: must be an ISO 8601 date and time';
const EFFECTIVE = 'must be a date or an ISO 8601 timestamp, of a real day';

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

function quarantined(reason: string, bodies: Record<string, string | Buffer>): Case[] {
  return Object.entries(bodies).map(([name, body]) => ({ name, body, state: 'quarantined', reason }));
}

function applied(bodies: Record<string, string | Buffer>): Case[] {
  return Object.entries(bodies).map(([name, body]) => ({ name, body, state: 'applied', reason: null }));
}

function ignored(reason: string, bodies: Record<string, string>): Case[] {
  return Object.entries(bodies).map(([name, body]) => ({ name, body, state: 'ignored', reason }));
}

export const CASES: Case[] = [
  ...quarantined(NOT_JSON, {
    'an empty body': '',
    blanks: ' \n',
    'a text that is not JSON': CANARY,
    'JSON cut short': deductionBody().slice(0, -1),
    'JSON and more': `${deductionBody()}{}`,
    'a byte order mark': `\ufeff${deductionBody()}`,
    'a byte order mark of another encoding': Buffer.from(`\ufeff${deductionBody()}`, 'utf16le'),
    'bytes that are not text': Buffer.of(0xff, 0xfe, 0x00),
    'single quotes': "{'event_type':'x'}",
    'a comma too many': '{"event_type":"x","data":{},}',
    'NaN as an amount': withAmount('NaN'),
    'Infinity as an amount': withAmount('-Infinity'),
    'a bare NUL': '{"event_type":"x\0"}',
  }),
  ...quarantined('must be an object', {
    'an array': `[${deductionBody()}]`,
    'a string': JSON.stringify(CANARY),
    'a number': '1e400',
    null: 'null',
    true: 'true',
  }),
  ...quarantined(TWICE, {
    'the type twice': '{"event_type":"a","event_type":"b","data":{}}',
    'an amount twice': withAmount(`"1","member_contribution":"${CANARY}"`),
    'a name twice, once with an escape': '{"event_type":"x","data":{"a":1,"\\u0061":2}}',
  }),
  ...quarantined(PROTO, {
    '__proto__ in the frame': '{"event_type":"x","data":{},"__proto__":{"polluted":true}}',
    '__proto__ in the data': '{"event_type":"x","data":{"__proto__":{"polluted":true}}}',
    '__proto__ with an escape': '{"event_type":"x","data":{"\\u005f_proto__":{"polluted":true}}}',
  }),
  ...quarantined(NUL, {
    'NUL in a value': deductionBody({ description: `${CANARY}\0` }),
    'NUL in an id': deductionBody({ id: 'ded\0' }),
    'NUL in a name': '{"event_type":"x","data":{"a\\u0000":1}}',
  }),
  ...quarantined(HALF, {
    'a high half': deductionBody({ description: '\ud800' }),
    'a low half': deductionBody({ description: '\udc00x' }),
    'two halves in the wrong order': '{"event_type":"x","data":{"a":"\\udc00\\ud800"}}',
    'half a pair in a name': '{"event_type":"x","data":{"\\ud800":1}}',
  }),
  ...quarantined(DEEP, {
    '33 levels': nested(33),
    '100,000 levels, closed': '['.repeat(100_000) + ']'.repeat(100_000),
    '200,000 levels, open': '{"a":'.repeat(200_000 / 5),
  }),
  ...quarantined('event_type: is required; data: is required', { 'an empty object': '{}' }),
  ...quarantined('event_type: must be a string', {
    'a type that is a number': '{"event_type":1,"data":{}}',
    'a type that is null': '{"event_type":null,"data":{}}',
    'a type that is an array': `{"event_type":["${CANARY}"],"data":{}}`,
  }),
  ...quarantined('event_type: must have at least 1 character', {
    'an empty type': '{"event_type":"","data":{}}',
  }),
  ...quarantined('event_type: must be at most 255 characters', {
    'a long type': `{"event_type":"${'x'.repeat(256)}","data":{}}`,
  }),
  ...quarantined('data: is required', { 'no data': '{"event_type":"employee.deduction-updated"}' }),
  ...quarantined('data: must be an object', {
    'data that are null': '{"event_type":"employee.deduction-updated","data":null}',
    'data that are an array': '{"event_type":"employee.deduction-updated","data":[]}',
    'data that are a text': `{"event_type":"employee.deduction-updated","data":"${CANARY}"}`,
  }),
  ...quarantined('id: must be a string', { 'an envelope id that is a number': deductionBody({}, { id: 7 }) }),
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
  ...quarantined(INSTANT, {
    'created_at without a time': deductionBody({}, { created_at: '2026-03-01' }),
    'created_at on an invalid day': deductionBody({}, { created_at: '2026-02-30T00:00:00Z' }),
    'created_at as a number': deductionBody({}, { created_at: 1_772_366_400 }),
    'created_at as any text': deductionBody({}, { created_at: CANARY }),
    'created_at empty': deductionBody({}, { created_at: '' }),
  }),
  ...quarantined(MEMBER, {
    'a number as an amount': withAmount('150.00'),
    '1e400 as an amount': withAmount('1e400'),
    'null as an amount': withAmount('null'),
    'an exponent': withAmount('"1e2"'),
    'the text NaN': withAmount('"NaN"'),
    'the text Infinity': withAmount('"Infinity"'),
    'a currency': withAmount('"$150"'),
    'a comma': withAmount('"1,50"'),
    'a blank': withAmount('" 1"'),
    'digits of another script': withAmount('"١٥٠"'),
    'a hexadecimal number': withAmount('"0x1F"'),
    'no digit before the point': withAmount('".5"'),
    'no digit after the point': withAmount('"5."'),
    'two signs': withAmount('"--1"'),
    'an empty amount': withAmount('""'),
    '41 digits': withAmount(`"${'9'.repeat(41)}"`),
    'an object as an amount': withAmount(`{"${CANARY}":"${CANARY}"}`),
  }),
  ...applied({
    'the longest texts': deductionBody(
      { description: '🙂'.repeat(4_000), effective_start: withFraction(43), effective_end: withFraction(43) },
      { id: 'x'.repeat(255), created_at: withFraction(43) },
    ),
    'a negative amount': withAmount('"-150.00"'),
    'a signed amount': withAmount('"+150"'),
    '40 digits on both sides': withAmount(`"${'9'.repeat(40)}.${'9'.repeat(40)}"`),
    'zeros before it': withAmount('"000150.000"'),
    'a whole pair': deductionBody({ description: '\ud83d\ude00' }),
    'markup and controls in a description': deductionBody({ description: '<script>\u0001\u007f</script>' }),
    'unknown fields': deductionBody({ extra: [{}] }, { extra: null, constructor: 'x' }),
    'null where a field is optional': deductionBody({
      coverage_type: null,
      effective_end: null,
      description: null,
    }),
    'an effective date without a time': deductionBody({ effective_start: '2026-04-01' }),
    'created_at with an offset and a fraction': deductionBody(
      {},
      { created_at: '2026-03-01T07:00:00.5-05:00' },
    ),
    'no created_at': deductionBody({}, { created_at: undefined }),
    'created_at null': deductionBody({}, { created_at: null }),
    'no envelope id': deductionBody({}, { id: undefined }),
    'white space around': ` \r\n\t${deductionBody()}\n`,
    'the deprecated type with a deduction': deductionBody({}, { event_type: 'employee.deduction-created' }),
    'a sync request': syncBody('sync-request'),
    'a sync complete': syncBody('sync-complete'),
  }),
  ...quarantined(`data.line_of_coverage: must be one of ${LINES_OF_COVERAGE.join(', ')}`, {
    'an unknown line of coverage': deductionBody({ line_of_coverage: CANARY }),
    'a line of coverage in capitals': deductionBody({ line_of_coverage: 'Medical' }),
  }),
  ...quarantined('data.period: must be one of weekly, biweekly, semimonthly, monthly', {
    'an unknown period': deductionBody({ period: 'annually' }),
  }),
  ...quarantined('data.taxability: must be one of pre_tax, post_tax', {
    'an unknown taxability': deductionBody({ taxability: true }),
  }),
  ...quarantined(`data.effective_start: ${EFFECTIVE}`, {
    'a start on an invalid day': deductionBody({ effective_start: '2026-02-29T00:00:00Z' }),
  }),
  ...quarantined(`data.effective_end: ${EFFECTIVE}`, {
    'an end as a number': deductionBody({ effective_end: 1 }),
  }),
  ...quarantined('data.id: is required', { 'no deduction id': deductionBody({ id: undefined }) }),
  ...quarantined('data.id: must have at least 1 character', {
    'an empty deduction id': deductionBody({ id: '' }),
  }),
  ...quarantined('data.employee_id: must be a string', {
    'an employee id as a number': deductionBody({ employee_id: 7 }),
  }),
  ...quarantined('data.employee_id: must be at most 255 characters', {
    'an employee id without end': deductionBody({ employee_id: CANARY.repeat(20) }),
  }),
  ...quarantined('data.employer_id: is required', {
    'a sync request without an employer': '{"event_type":"employee-census.sync-request","data":{}}',
  }),
  ...quarantined('data.employer_id: must be a string', {
    'a sync complete with a number as employer': syncBody('sync-complete', 1),
  }),
  ...quarantined('data.employer_id: must have at least 1 character', {
    'a sync request with an empty employer': syncBody('sync-request', ''),
  }),
  ...ignored('the event type is deprecated and its data is not a deduction', {
    'the deprecated type without a deduction': deductionBody(
      { id: 1 },
      { event_type: 'employee.deduction-created' },
    ),
    'the deprecated type with empty data': '{"event_type":"employee.deduction-created","data":{}}',
  }),
  ...ignored('this event type is not handled', {
    'an unknown type': deductionBody({}, { event_type: 'employee.deduction-removed' }),
    'a type in capitals': deductionBody({}, { event_type: 'Employee.Deduction-Updated' }),
    'a type named as a method of objects': '{"event_type":"constructor","data":{}}',
    'the deepest nesting that is read': nested(32),
  }),
];
