import t from 'tap';
import { EVENT_TYPES, envelope, syncData } from '../../src/contract/events.ts';
import { ABSENT, checkRules, fails, identifiers, passes, required } from './rules.ts';
import * as samples from './samples.ts';

t.test('an envelope follows the interface', async (t) => {
  checkRules(t, envelope, samples.envelope, [
    ...required('event_type', 'data'),
    passes('id', 'evt-1', null, ABSENT),
    fails('id: must be a string', 1),
    passes('event_type', ...EVENT_TYPES, 'some.other-type'),
    fails('event_type: must have at least 1 character', ''),
    fails('event_type: must be a string', null, 1),
    passes('data', {}, { any: 1 }),
    fails('data: must be an object', null, [], 'x'),
    passes('created_at', '2026-01-05T05:31:56Z', '2026-01-05T05:31:56.123+02:00', null, ABSENT),
    fails(
      'created_at: must be an ISO 8601 date and time',
      '2026-01-05',
      '2026-02-30T00:00:00Z',
      '2026-01-05T24:00:00Z',
      'yesterday',
      '',
      1767591116,
    ),
    passes('unknown', 'passes'),
    fails('must be an object', [], null, 'x'),
  ]);
});

t.test('a census event names an employer', async (t) => {
  checkRules(t, syncData, samples.syncData, [
    ...required('employer_id'),
    ...identifiers('employer_id'),
    passes('unknown', 'passes'),
  ]);
});
