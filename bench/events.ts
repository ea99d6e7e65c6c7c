/** Signed, distinct deduction events as raw HTTP requests, prepared before the clock starts. */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';

export const KEY = randomBytes(32);
export const SECRET = `whsec_${KEY.toString('base64')}`;

/** A payroll of middling size: each employee has some deductions. */
const EMPLOYEES = 10_000;
const LINES = ['medical', 'dental', 'vision', 'hsa', 'life'];

/** Ids like the provider's: they rise with time, their tails are random. */
function eventId(index: number): string {
  const time = (Date.now() * 1_000 + index).toString(36);
  return `msg_${time}${randomBytes(9).toString('base64url')}`;
}

export function prepareEvents(count: number): Buffer[] {
  const timestamp = Math.floor(Date.now() / 1_000);
  return Array.from({ length: count }, (_, index) => {
    const id = eventId(index);
    const body = JSON.stringify({
      id: randomUUID(),
      event_type: 'employee.deduction-updated',
      data: {
        id: randomUUID(),
        employee_id: `emp-${index % EMPLOYEES}`,
        line_of_coverage: LINES[index % LINES.length],
        member_contribution: `${100 + (index % 50)}.50`,
        employer_contribution: '350.00',
        period: 'monthly',
        taxability: 'pre_tax',
        coverage_type: 'member_family',
        description: 'Gold PPO 500',
        effective_start: '2026-01-01T00:00:00Z',
        effective_end: '2026-12-31T00:00:00Z',
      },
      created_at: new Date(Date.now() + index).toISOString(),
    });
    const signature = createHmac('sha256', KEY).update(`${id}.${timestamp}.${body}`).digest('base64');
    return Buffer.from(
      `POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\nsvix-id: ${id}\r\nsvix-timestamp: ${timestamp}\r\n` +
        `svix-signature: v1,${signature}\r\n\r\n${body}`,
    );
  });
}
