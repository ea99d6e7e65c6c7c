import t from 'tap';
import { parseEvent } from '../../src/inbox/parse-event.ts';
import { deductionBody, syncBody } from './bodies.ts';
import { CANARY } from './parse-event-cases.ts';

t.test('a reason names the first five problems, and no values', async (t) => {
  const data = {
    id: '',
    employee_id: { [CANARY]: CANARY },
    line_of_coverage: CANARY,
    member_contribution: CANARY,
    employer_contribution: 1,
    period: CANARY,
    taxability: CANARY,
  };
  const { meaning } = parseEvent(Buffer.from(deductionBody(data)));
  if (meaning.kind !== 'quarantined') return t.fail('accepted');
  t.equal(meaning.reason.split('; ').length, 5);
  t.match(meaning.reason, /^data\.id: must have at least 1 character; data\.employee_id: must be a string; /);
  t.notMatch(meaning.reason, CANARY);
});

t.test('an event keeps its type, its envelope id and its time as sent', async (t) => {
  const time = '2026-03-01t07:00:00,123456789-05:00';
  t.match(parseEvent(Buffer.from(deductionBody({}, { id: 'evt_9', created_at: time }))), {
    eventType: 'employee.deduction-updated',
    envelopeId: 'evt_9',
    createdAt: time,
    meaning: { kind: 'deduction' },
  });
  t.strictSame(parseEvent(Buffer.from(syncBody('sync-request', 'é'))), {
    eventType: 'employee-census.sync-request',
    envelopeId: 'evt_2',
    createdAt: null,
    meaning: { kind: 'sync-request', employerId: 'é' },
    unknown: [],
  });
  const longId = parseEvent(Buffer.from(deductionBody({}, { id: 'x'.repeat(256) })));
  t.equal(longId.envelopeId, null, 'an id that is too long is not kept');
  t.match(parseEvent(Buffer.from('{}')), { eventType: null, envelopeId: null, createdAt: null });
});
