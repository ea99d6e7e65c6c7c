/** What the simulator receives and sends, in plain words, one line each. No id or value of a person. */
import { type Delivery, RETRY_DELAYS_MS } from '../simulator/provider.ts';
import type { ReceivedRequest } from '../simulator/record.ts';
import { printable } from './output.ts';

const CHANGES: Readonly<Record<string, string>> = {
  'new-hire': 'A new hire',
  termination: 'A termination',
  demographic: 'A change of address',
  'compensation-change': 'A change of pay or status',
};

export function requestInWords(request: ReceivedRequest): string {
  const { method, path, body } = request;
  return `${subjectOf(method, path, body)}: ${onPurpose(request) ?? outcomeOf(request)}`;
}

/** What a fault made of it; null when it met none. */
function onPurpose({ fault, status, applied, repeated }: ReceivedRequest): string | null {
  if (fault === null) return null;
  if (status !== null) return `answered ${status} on purpose (${fault})`;
  return `${applied ? 'applied' : repeated ? 'known' : 'not applied'}, and not answered on purpose (${fault})`;
}

function subjectOf(method: string, path: string, body: unknown): string {
  if (method !== 'POST') return `${printable(method)} ${printable(path)} came`;
  const [, employerId] = /^\/employer\/([^/]+)\/census$/.exec(path) ?? [];
  if (employerId !== undefined) return `A census of ${printable(employerId)}${countOf(body)} came`;
  const [, change = ''] = /^\/employee-changes\/([a-z-]+)$/.exec(path) ?? [];
  return `${CHANGES[change] ?? 'A request to an address that is no endpoint'} came`;
}

function countOf(body: unknown): string {
  const employees = (body as { employees?: unknown } | null)?.employees;
  return Array.isArray(employees) ? ` with ${employees.length} employees` : '';
}

function outcomeOf({ status, repeated }: ReceivedRequest): string {
  if (repeated) return 'known by its idempotency key, answered again and not applied twice';
  if (status === 200) return 'accepted';
  if (status === 401) return 'refused, its API key is not the one above (401)';
  if (status === 422) return 'refused, it breaks the contract (422)';
  return `not accepted (${status})`;
}

export function deliveryInWords({ eventId, attempt, acknowledged, status, reason }: Delivery): string {
  const answer = status === null ? `no answer, ${reason}` : `answered ${status}`;
  if (acknowledged) return `Event ${eventId} acknowledged (${status})`;
  const next = attempt < RETRY_DELAYS_MS.length ? 'it is tried again' : 'given up after the last attempt';
  return `Event ${eventId} not acknowledged (${answer}), attempt ${attempt}: ${next}`;
}
