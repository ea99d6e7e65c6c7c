import t from 'tap';
import { EVENT_TYPES, envelope, syncData } from '../../src/contract/events.ts';
import { ABSENT, checkRules, identifiers, required } from './rules.ts';
import * as samples from './samples.ts';

t.test('an envelope follows the interface', async (t) => {
  checkRules(t, envelope, samples.envelope, [
    ...required('event_type', 'data'),
    { field: 'id', passes: ['evt-1', null, ABSENT], fails: [1], problem: 'id: must be a string' },
    {
      field: 'event_type',
      passes: [...EVENT_TYPES, 'some.other-type'],
      fails: [''],
      problem: 'event_type: must have at least 1 character',
    },
    { field: 'event_type', fails: [null, 1], problem: 'event_type: must be a string' },
    { field: 'data', passes: [{}, { any: 1 }], fails: [null, [], 'x'], problem: 'data: must be an object' },
    {
      field: 'created_at',
      passes: ['2026-01-05T05:31:56Z', '2026-01-05T05:31:56.123+02:00', null, ABSENT],
      fails: ['2026-01-05', '2026-02-30T00:00:00Z', '2026-01-05T24:00:00Z', 'yesterday', '', 1767591116],
      problem: 'created_at: must be an ISO 8601 date and time',
    },
    { field: 'unknown', passes: ['passes'] },
    { field: '', fails: [[], null, 'x'], problem: 'must be an object' },
  ]);
});

t.test('a census event names an employer', async (t) => {
  checkRules(t, syncData, samples.syncData, [
    ...required('employer_id'),
    ...identifiers('employer_id'),
    { field: 'unknown', passes: ['passes'] },
  ]);
});
