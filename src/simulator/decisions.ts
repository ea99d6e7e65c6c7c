import type { Fault, RequestFault } from './faults.ts';

/** What a request comes to; a fault may keep it back. */
export type Decision = {
  status: number;
  body: object;
  applied: boolean;
  repeated: boolean;
  headers: Readonly<Record<string, string>>;
};

export const WRONG_KEY = 'the API key is missing or wrong';

export function decided(status: number, body: object): Decision {
  return { status, body, applied: false, repeated: false, headers: {} };
}

/** `details`: field -> rule. */
export function refused(
  status: number,
  error: string,
  details: Readonly<Record<string, string>> = {},
): Decision {
  return decided(status, { error, details });
}

/** What a fault decides before anything is applied; null when the request is judged. */
export function decisionBy(fault: Fault | null): Decision | null {
  switch (fault?.name) {
    case 'rate-limit':
      return {
        ...refused(429, 'too many requests'),
        headers: { 'retry-after': String(Math.ceil(fault.value / 1_000)) },
      };
    case 'error':
      return refused(fault.value, 'the service is in trouble');
    case 'wrong-key':
      return refused(401, WRONG_KEY);
    case 'forbidden':
      return refused(403, 'this key may not do that here');
    case 'hang':
    case 'reset':
      return decided(0, {});
    default:
      return null;
  }
}

const SILENT: ReadonlySet<string> = new Set<RequestFault>(['hang', 'reset', 'lost-answer', 'half-answer']);

/** Whether no whole answer goes out, whatever was decided. */
export function isSilent(fault: Fault | null): boolean {
  return fault !== null && SILENT.has(fault.name);
}
