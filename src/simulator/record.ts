import type { RequestFault } from './faults.ts';

export type RequestKind = 'census' | 'new-hire' | 'termination' | 'demographic' | 'compensation-change';

export type ReceivedRequest = {
  at: Date;
  method: string;
  /** As sent, percent-encoded. */
  path: string;
  /** Null if it is for no endpoint, or was refused before it was read. */
  kind: RequestKind | null;
  /** `employer:ID` for a census, `employee:ID` for a change; null if neither is named. */
  subject: string | null;
  idempotencyKey: string | null;
  /** Null if there was no response because of `fault`. */
  status: number | null;
  /** The parsed body; null if there was none or it was not read. Only the newest census per path is kept. */
  body: unknown;
  /** SHA-256 of the body's text, in hexadecimal; null if the body was not read. */
  bodyHash: string | null;
  /** Whether it took effect: once per idempotency key, except with the fault `ignore-keys`. */
  applied: boolean;
  /** Whether its key was seen before, so that it was not applied again. */
  repeated: boolean;
  fault: RequestFault | null;
};
