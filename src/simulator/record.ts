/** One request as the service received it and answered it. */
export type ReceivedRequest = {
  at: Date;
  method: string;
  /** As it was sent, with its percent-encoding. */
  path: string;
  idempotencyKey: string | null;
  status: number;
  /** The parsed body; null when there was none or it was not read. Only the newest census of a path is kept. */
  body: unknown;
  /** Its key was seen before, so that it was answered and not applied again. */
  repeated: boolean;
};

export type RequestRecord = {
  add(request: ReceivedRequest): void;
  requests(): ReceivedRequest[];
};

/** Everything received, in order of the answers. A census may be of 100 MB: older ones are let go. */
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
