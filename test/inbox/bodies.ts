import { deduction as sample } from '../contract/samples.ts';

/** A deduction event; `data` changes the sample deduction, `frame` the envelope. */
export function deductionBody(data: Record<string, unknown> = {}, frame: Record<string, unknown> = {}) {
  return JSON.stringify({
    id: 'evt_1',
    event_type: 'employee.deduction-updated',
    data: { ...sample, ...data },
    created_at: '2026-03-01T12:00:00Z',
    ...frame,
  });
}

export function syncBody(type: 'sync-request' | 'sync-complete', employerId: unknown = 'employer-1'): string {
  return JSON.stringify({
    id: 'evt_2',
    event_type: `employee-census.${type}`,
    data: { employer_id: employerId },
  });
}

/** An event for a new deduction whose id is the event id. */
export function deduction(name: string): [eventId: string, body: string] {
  return [name, deductionBody({ id: `ded-${name}` })];
}
