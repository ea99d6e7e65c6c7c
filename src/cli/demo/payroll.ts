/** The demo's payroll system, as far as a census goes: answers with an employer's census when it is asked. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Census } from '../../contract/census.ts';

export type Payroll = {
  /** What the sidecar is given as `CENSUS_SOURCE`. */
  readonly censusAddress: string;
  readonly url: string;
  /** How often an employer's census was given out. */
  givenOut(employerId: string): number;
  close(): Promise<void>;
};

/** `GET /employers/{employer_id}/census` with this bearer token, on a free port of 127.0.0.1. */
export async function startPayroll(censuses: ReadonlyMap<string, Census>, token: string): Promise<Payroll> {
  const givenOut = new Map<string, number>();
  const server = createServer((request, response) => {
    const [, encoded] = /^\/employers\/([^/?]+)\/census$/.exec(request.url ?? '') ?? [];
    const employerId = encoded === undefined ? '' : decodeURIComponent(encoded);
    const census = censuses.get(employerId);
    if (request.headers.authorization !== `Bearer ${token}`) return void response.writeHead(401).end();
    if (request.method !== 'GET' || census === undefined) return void response.writeHead(404).end();
    givenOut.set(employerId, (givenOut.get(employerId) ?? 0) + 1);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(census));
  });
  const listening = Promise.withResolvers<void>();
  server.once('error', listening.reject);
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    censusAddress: `${url}/employers/{employer_id}/census`,
    givenOut: (employerId) => givenOut.get(employerId) ?? 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
