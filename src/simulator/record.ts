import type { RequestFault } from './faults.ts';

/** What of the interface a request is. */
export const REQUEST_KINDS = [
  'census',
  'new-hire',
  'termination',
  'demographic',
  'compensation-change',
] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];

/** One request as the service received it and answered it. */
export type ReceivedRequest = {
  at: Date;
  method: string;
  /** As it was sent, with its percent-encoding. */
  path: string;
  /** Null when it is for no endpoint, or was refused before it was read. */
  kind: RequestKind | null;
  /** Whose order it belongs to: `employer:ID` for a census, `employee:ID` for a change; null when nobody is named. */
  subject: string | null;
  idempotencyKey: string | null;
  /** Null when it was not answered: `fault` says why. */
  status: number | null;
  /** The parsed body; null when there was none or it was not read. Only the newest census of a path is kept. */
  body: unknown;
  /** SHA-256 of the body's text, in hexadecimal; null as the body is. */
  bodyHash: string | null;
  /** It took effect: once for an idempotency key, unless the fault `ignore-keys` was met. */
  applied: boolean;
  /** Its key was seen before, so that it was answered and not applied again. */
  repeated: boolean;
  /** The fault that it met on purpose. */
  fault: RequestFault | null;
};

export type RequestRecord = {
  add(request: ReceivedRequest): void;
  requests(): ReceivedRequest[];
};

/** Everything received, in the order in which it was decided. A census may be of 100 MB: older ones are let go. */
export function createRecord(): RequestRecord {
  const requests: ReceivedRequest[] = [];
  const newestCensus = new Map<string, ReceivedRequest>();
  return {
    add: (request) => {
      requests.push(request);
      if (!request.path.endsWith('/census')) return;
      const older = newestCensus.get(request.path);
      if (older) older.body = null;
      newestCensus.set(request.path, request);
    },
    requests: () => [...requests],
  };
}
