/** The responses of the benefits service, in words. The contract names no statuses, so these are their usual meanings. */

const MEANINGS: Readonly<Record<number, string>> = {
  400: 'found invalid data in it',
  401: 'does not accept the API key',
  408: 'asks to send it later',
  409: 'has data that conflicts with it',
  413: 'finds it too large',
  422: 'found invalid data in it',
  425: 'asks to send it later',
  429: 'asks to send it later',
};

/** Returns what a status that does not deliver a request means: `the service does not know this employee (status 404)`. */
export function responseInWords(status: number, kind: string): string {
  const meaning = MEANINGS[status] ?? meaningOf(status, kind);
  return meaning === null
    ? `the service responded with ${status}`
    : `the service ${meaning} (status ${status})`;
}

function meaningOf(status: number, kind: string): string | null {
  const subject = kind === 'census' || kind === 'new-hire' ? 'employer' : 'employee';
  if (status === 403) return `does not permit requests for this ${subject}`;
  if (status === 404) return `does not know this ${subject}`;
  if (status < 300) return 'reported a failure';
  if (status < 400) return 'has moved to another address';
  return status < 500 ? null : 'had a failure of its own';
}
