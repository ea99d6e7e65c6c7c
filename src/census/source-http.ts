import type { Dispatcher } from 'undici';
import { pathSegment } from '../contract/fields.ts';
import type { AppError } from '../errors.ts';
import { WORKBOOK_TYPE } from '../formats/workbook/bounds.ts';
import { createAgent, failureCode } from '../outgoing.ts';
import { NO_PROXY, type ProxyConfig } from '../proxy-config.ts';
import { isTableType } from './reading.ts';
import { type CensusFetcher, sourceFailed } from './source.ts';

/** Payroll's endpoint is near; if it does not accept the connection, it is down. */
const CONNECT_MS = 10_000;
/** The endpoint may compute the census before its first byte. */
const HEADERS_MS = 60_000;
/** A longer pause between two parts ends the download. */
const IDLE_MS = 30_000;
/** A census of 256 MiB at half a megabyte a second. */
const WHOLE_MS = 10 * 60_000;

/** Has the organization of a CSV. */
const HEADER = 'Census-Organization';

/** Creates a source that requests `url`, payroll's own endpoint, which contains `{employer_id}`. */
export function createHttpSource(
  url: string,
  token: string | null,
  version: string,
  proxy: ProxyConfig = NO_PROXY,
): CensusFetcher {
  const agent = createAgent(proxy, { connect: { timeout: CONNECT_MS } });
  return {
    async fetch(employerId, signal) {
      const segment = pathSegment(employerId);
      if (segment === null) throw sourceFailed('the employer ID cannot be part of a URL');
      const { origin, pathname, search } = new URL(url.replaceAll('{employer_id}', segment));
      let response: Dispatcher.ResponseData;
      try {
        response = await agent.request({
          origin,
          path: pathname + search,
          method: 'GET',
          headers: {
            accept: `application/json, text/csv;q=0.9, ${WORKBOOK_TYPE};q=0.9`,
            'accept-encoding': 'identity',
            'user-agent': `benefits-sidecar/${version}`,
            ...(token !== null && { authorization: `Bearer ${token}` }),
          },
          signal: AbortSignal.any([signal, AbortSignal.timeout(WHOLE_MS)]),
          headersTimeout: HEADERS_MS,
          bodyTimeout: IDLE_MS,
        });
      } catch (error) {
        throw brokenOff(error);
      }
      const refusal = refusalOf(response);
      if (refusal !== null) {
        response.body.on('error', () => {}).destroy();
        throw sourceFailed(refusal);
      }
      const isTable = isTableType(response.headers['content-type']);
      // The organization of a CSV is in a header, as in PUT, which is decoded as Latin-1.
      const header = response.headers[HEADER.toLowerCase()];
      const organization = typeof header === 'string' ? Buffer.from(header, 'latin1') : null;
      const content = contentOf(response);
      return isTable
        ? { format: 'csv', content, organization, organizationFrom: `the header ${HEADER}` }
        : { format: 'json', content };
    },
  };
}

/** Returns why a response is not a census, or null. A redirect could send the token to another host. */
function refusalOf({ statusCode, headers }: Dispatcher.ResponseData): string | null {
  if (statusCode >= 300 && statusCode < 400) {
    return `the census source responded with ${statusCode}: redirects are not followed, so configure its final address`;
  }
  if (statusCode !== 200) return `the census source responded with ${statusCode}`;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') return 'the census source sent a compressed census';
  return null;
}

async function* contentOf({ body }: Dispatcher.ResponseData): AsyncGenerator<Uint8Array> {
  try {
    for await (const part of body) yield part as Buffer;
  } catch (error) {
    throw brokenOff(error);
  }
}

function brokenOff(error: unknown): AppError {
  return sourceFailed(`the census source cannot be reached: ${failureCode(error)}`);
}
