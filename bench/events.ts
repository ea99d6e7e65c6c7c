/** Signed, distinct deduction events as raw HTTP requests, prepared before the clock starts. */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import type { Arrival } from '../src/inbox/inbox.ts';

const KEY = randomBytes(32);
export const SECRET = `whsec_${KEY.toString('base64')}`;

/** A medium-sized payroll: each employee has several deductions. */
const EMPLOYEES = 10_000;
const LINES = ['medical', 'dental', 'vision', 'hsa', 'life'];

export function prepareEvents(count: number): Buffer[] {
  const timestamp = Math.floor(Date.now() / 1_000);
  return prepareArrivals(count).map(({ eventId, body }) => signed(eventId, body.toString(), timestamp));
}

/** The same events as stored, without a request. */
export function prepareArrivals(count: number): Arrival[] {
  // A millisecond apart, the last of them now, so that none is future-dated.
  const first = Date.now() - count;
  return Array.from({ length: count }, (_, index) => {
    const body = bodyOf({
      envelopeId: randomUUID(),
      deductionId: randomUUID(),
      // The deductions of an employee come together.
      employeeId: `emp-${Math.floor(index / LINES.length) % EMPLOYEES}`,
      line: LINES[index % LINES.length] as string,
      contribution: `${100 + (index % 50)}.50`,
      createdAt: new Date(first + index).toISOString(),
    });
    return { eventId: eventId(index), body: Buffer.from(body) };
  });
}

/** Returns the request that delivers a body. `timestamp` is in seconds. */
export function signed(id: string, body: string, timestamp: number): Buffer {
  const signature = createHmac('sha256', KEY).update(`${id}.${timestamp}.${body}`).digest('base64');
  return Buffer.from(
    `POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nsvix-id: ${id}\r\nsvix-timestamp: ${timestamp}\r\n` +
      `svix-signature: v1,${signature}\r\n\r\n${body}`,
  );
}

/** Returns ids like the provider's: they increase with time and end randomly. */
function eventId(index: number): string {
  const time = (Date.now() * 1_000 + index).toString(36);
  return `msg_${time}${randomBytes(9).toString('base64url')}`;
}

/** Returns the body of a deduction event. Events stored in bulk for `--scale` have the same. */
export function bodyOf(event: {
  envelopeId: string;
  deductionId: string;
  employeeId: string;
  line: string;
  contribution: string;
  createdAt: string;
  /** A date. */
  startsOn?: string;
}): string {
  return JSON.stringify({
    id: event.envelopeId,
    event_type: 'employee.deduction-updated',
    data: {
      id: event.deductionId,
      employee_id: event.employeeId,
      line_of_coverage: event.line,
      member_contribution: event.contribution,
      employer_contribution: '350.00',
      period: 'monthly',
      taxability: 'pre_tax',
      coverage_type: 'member_family',
      description: 'Gold PPO 500',
      effective_start: `${event.startsOn ?? '2026-01-01'}T00:00:00Z`,
      effective_end: '2026-12-31T00:00:00Z',
    },
    created_at: event.createdAt,
  });
}
