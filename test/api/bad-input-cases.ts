/** Invalid requests and their responses. */
import { census } from '../contract/samples.ts';
import type { Request } from './start.ts';

export type Case = Request & { status: number; errors?: [path: string, rule: RegExp][]; detail?: RegExp };

const long = 'x'.repeat(256);
const deep = '['.repeat(40) + ']'.repeat(40);
const post = (url: string, body: unknown, more: Partial<Case> = {}): Case => ({
  method: 'POST',
  url,
  body,
  status: 400,
  ...more,
});

export const CASES: Record<string, Case> = {
  'an invalid day': { url: '/v1/deductions?on=2026-02-30', status: 400, errors: [['on', /real date/]] },
  'a day with a time': {
    url: '/v1/deductions?on=2026-02-01T00:00:00Z',
    status: 400,
    errors: [['on', /real date/]],
  },
  'an invalid instant': {
    url: '/v1/deductions?known_at=yesterday',
    status: 400,
    errors: [['known_at', /date and time/]],
  },
  'an offset with an unencoded plus': {
    url: '/v1/deductions?known_at=2026-01-31T09:30:00+02:00',
    status: 400,
    errors: [['known_at', /%2B/]],
  },
  'limit 0': {
    url: '/v1/deductions?limit=0',
    status: 400,
    errors: [['limit', /^must be a whole number from 1 to 1000$/]],
  },
  'limit 1001': { url: '/v1/events?limit=1001', status: 400, errors: [['limit', /1000/]] },
  'limit 1e2': { url: '/v1/events?limit=1e2', status: 400, errors: [['limit', /1000/]] },
  'limit -1': { url: '/v1/census-syncs?limit=-1', status: 400, errors: [['limit', /1000/]] },
  'an empty limit': { url: '/v1/census-syncs?limit=', status: 400, errors: [['limit', /1000/]] },
  'a mistyped parameter': {
    url: '/v1/deductions?employe_id=e1',
    status: 400,
    errors: [['employe_id', /is not a parameter of this operation, which has: .*employee_id/]],
  },
  "a person's name as a parameter": {
    url: '/v1/deductions?999-88-7777%20Canaryname=1',
    status: 400,
    errors: [['[…]', /^is not a parameter of this operation, which has: /]],
  },
  'a prototype key': {
    url: '/v1/deductions?__proto__=1',
    status: 400,
    errors: [['__proto__', /not a parameter/]],
  },
  'another prototype key': {
    url: '/v1/events?constructor=1',
    status: 400,
    errors: [['constructor', /not a parameter/]],
  },
  'a parameter twice': {
    url: '/v1/deductions?employee_id=a&employee_id=b',
    status: 400,
    errors: [['employee_id', /given only once/]],
  },
  'an empty id': {
    url: '/v1/deductions?employee_id=',
    status: 400,
    errors: [['employee_id', /at least 1 character/]],
  },
  'an id with NUL': { url: '/v1/deductions?employee_id=%00', status: 400, errors: [['employee_id', /NUL/]] },
  'an unknown line of coverage': {
    url: '/v1/deductions?line_of_coverage=pets',
    status: 400,
    errors: [['line_of_coverage', /one of accident, /]],
  },
  'an invalid flag': {
    url: '/v1/deductions?matched=yes',
    status: 400,
    errors: [['matched', /true or false/]],
  },
  'several at once': {
    url: '/v1/deductions?matched=yes&limit=x',
    status: 400,
    errors: [
      ['matched', /true or false/],
      ['limit', /whole number/],
    ],
  },
  'an unknown state': {
    url: '/v1/events?state=lost',
    status: 400,
    errors: [['state', /must be one of pending/]],
  },
  'an invalid position': {
    url: '/v1/deduction-versions?cursor=-1',
    status: 400,
    errors: [['cursor', /position/]],
  },
  'a position that is too large': {
    url: `/v1/deduction-versions?cursor=${'9'.repeat(400)}`,
    status: 400,
    errors: [['cursor', /position/]],
  },
  'an id with an encoded slash': { url: '/v1/deductions/a%2Fb', status: 404 },
  'an id with parent folders': { url: '/v1/employers/..%2F..%2Fetc%2Fpasswd/census', status: 404 },
  'an id in Unicode': { url: `/v1/deductions/${encodeURIComponent('déd 例 🙂')}/versions`, status: 404 },
  'an id with spaces': { url: '/v1/events/%20%20', status: 404 },
  'the longest id in Unicode': { url: `/v1/deductions/${encodeURIComponent('🙂'.repeat(255))}`, status: 404 },
  'an id that is too long': {
    url: `/v1/deductions/${long}`,
    status: 400,
    errors: [['deduction_id', /at most 255/]],
  },
  'an extremely long id': {
    url: `/v1/deductions/${'x'.repeat(10_000)}`,
    status: 400,
    detail: /ID in the path is too long/,
  },
  'an id with NUL in the path': { url: '/v1/events/a%00b', status: 400, errors: [['event_id', /NUL/]] },
  'an id that is not UTF-8': { url: '/v1/deductions/%ff%fe', status: 400, detail: /Percent-encode/ },
  'half an escape': { url: '/v1/deductions/%E0%A4%A', status: 400, detail: /Percent-encode/ },
  'an unknown path': { url: '/v1/nothing', status: 404, detail: /path does not exist/ },
  'a wrong method': {
    method: 'DELETE',
    url: '/v1/deductions',
    status: 405,
    detail: /does not support DELETE\. Use GET\.$/,
  },
  'another wrong method': {
    method: 'PATCH',
    url: '/v1/employers/1/census',
    status: 405,
    detail: /Use GET, PUT\.$/,
  },
  'malformed JSON': post('/v1/events/reprocess', '{"state":', { errors: [['body', /not valid JSON/]] }),
  'deep JSON': post('/v1/events/reprocess', deep, { errors: [['body', /nested deeper/]] }),
  'a field twice': post('/v1/events/reprocess', '{"state":"applied","state":"ignored"}', {
    errors: [['body', /twice/]],
  }),
  'a prototype field': post('/v1/events/reprocess', '{"__proto__":{"state":"applied"}}', {
    errors: [['body', /__proto__/]],
  }),
  'half a surrogate pair': post('/v1/events/reprocess', '{"event_type":"\\ud800"}', {
    errors: [['body', /surrogate/]],
  }),
  'JSON after a byte order mark': post('/v1/events/reprocess', '\ufeff{}', {
    errors: [['body', /byte order mark/]],
  }),
  'JSON that is not UTF-8': post('/v1/events/reprocess', Buffer.from('"\xff"', 'latin1'), {
    errors: [['body', /UTF-8/]],
  }),
  'an array as the body': post('/v1/events/reprocess', [], { errors: [['body', /./]] }),
  'null as the body': post('/v1/events/reprocess', 'null', { errors: [['body', /./]] }),
  'no body': { method: 'POST', url: '/v1/events/reprocess', status: 400, errors: [['body', /./]] },
  'no filter': post('/v1/events/reprocess', {}, { errors: [['body', /at least one of state, event_type/]] }),
  'an unknown field': post(
    '/v1/events/reprocess',
    { status: 'applied' },
    { errors: [['status', /which has: state/]] },
  ),
  "a person's name as a field": post(
    '/v1/events/reprocess',
    { 'Canaryname 999-88-7777': 'applied' },
    { errors: [['[…]', /which has: state/]] },
  ),
  'pending as what to reprocess': post(
    '/v1/events/reprocess',
    { state: 'pending' },
    { errors: [['state', /one of applied/]] },
  ),
  'a number as an instant': post(
    '/v1/events/reprocess',
    { from: 1 },
    { errors: [['from', /date and time/]] },
  ),
  '1 MB of JSON': post('/v1/events/reprocess', JSON.stringify({ event_type: 'x'.repeat(1024 * 1024) }), {
    status: 413,
  }),
  'an empty reason': post(
    '/v1/events/e1/dismiss',
    { reason: '' },
    { errors: [['reason', /must be a reason/]] },
  ),
  'a blank reason': post(
    '/v1/events/e1/dismiss',
    { reason: ' \n\t' },
    { errors: [['reason', /must be a reason/]] },
  ),
  'a long reason': post(
    '/v1/events/e1/dismiss',
    { reason: 'x'.repeat(501) },
    { errors: [['reason', /at most 500/]] },
  ),
  'no reason': post('/v1/events/e1/dismiss', {}, { errors: [['reason', /is required/]] }),
  'another content type': post('/v1/events/e1/dismiss', 'reason=x', {
    status: 415,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  }),
  'a compressed body': post(
    '/v1/events/e1/dismiss',
    { reason: 'x' },
    { status: 415, headers: { 'content-encoding': 'gzip' } },
  ),
  'a census with another content type': {
    method: 'PUT',
    url: '/v1/employers/1/census',
    body: 'x',
    status: 415,
    headers: { 'content-type': 'text/plain' },
  },
  'a compressed census': {
    method: 'PUT',
    url: '/v1/employers/1/census',
    body: census,
    status: 415,
    headers: { 'content-encoding': 'gzip' },
  },
  'no census': {
    method: 'PUT',
    url: '/v1/employers/1/census',
    status: 400,
    errors: [['body', /is required/]],
  },
  'a census that is not JSON': {
    method: 'PUT',
    url: '/v1/employers/1/census',
    body: '{"organization',
    status: 422,
  },
  'a census of an employer without an id': {
    method: 'PUT',
    url: '/v1/employers//census',
    body: census,
    status: 400,
  },
};
