/** Calls the sidecar's API as payroll would: over HTTP, with a token, page by page. */
import { Agent, request } from 'undici';

export type Api = {
  /** One answer of 200. Rejects for any other, and when there is none in time. */
  get<T>(path: string): Promise<T>;
  /** A list from its first page to its last. `next` is the parameter that `next_cursor` goes into. */
  list<T>(path: string, next?: 'cursor' | 'after'): Promise<T[]>;
  /** Sends JSON, and answers what came with a status of 2xx. `ifMatch` is an ETag. Rejects as `get` does. */
  send<T>(method: 'PUT' | 'POST', path: string, body: object, ifMatch?: string): Promise<T>;
  close(): Promise<void>;
};

type Page<T> = { data: T[]; next_cursor: string | null };

/** The API answers in milliseconds; one that hangs must not keep the demo waiting for minutes. */
const ANSWERS_WITHIN_MS = 30_000;

export function createApi(url: string, token: string): Api {
  const dispatcher = new Agent({ headersTimeout: ANSWERS_WITHIN_MS, bodyTimeout: ANSWERS_WITHIN_MS });
  const headers = { authorization: `Bearer ${token}` };
  const ask = async <T>(method: 'GET' | 'PUT' | 'POST', path: string, more: object = {}): Promise<T> => {
    const { statusCode, body } = await request(`${url}${path}`, { dispatcher, method, headers, ...more });
    if (statusCode === 200 || statusCode === 201) return (await body.json()) as T;
    throw new Error(`${method} ${path} was answered ${statusCode}: ${(await body.text()).slice(0, 500)}`);
  };
  const get = <T>(path: string): Promise<T> => ask('GET', path);
  return {
    get,
    list: async <T>(path: string, next: 'cursor' | 'after' = 'cursor') => {
      const rows: T[] = [];
      for (let at: string | null = ''; at !== null; ) {
        const more: string = at === '' ? '' : `${path.includes('?') ? '&' : '?'}${next}=${at}`;
        const page: Page<T> = await get(`${path}${more}`);
        rows.push(...page.data);
        at = page.next_cursor;
      }
      return rows;
    },
    send: (method, path, body, ifMatch) =>
      ask(method, path, {
        body: JSON.stringify(body),
        headers: {
          ...headers,
          'content-type': 'application/json',
          ...(ifMatch !== undefined && { 'if-match': `"${ifMatch}"` }),
        },
      }),
    close: () => dispatcher.destroy(),
  };
}
