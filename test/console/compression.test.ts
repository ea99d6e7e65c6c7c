import t from 'tap';
import { FIRST_TOKEN } from '../api/start.ts';
import { openConsole } from './stage.ts';

t.test('pages are compressed for their own origin, and assets for all', async (t) => {
  const { app, base, opened } = await openConsole(t);
  const encodingOf = async (url: string, headers: Record<string, string>) => {
    const authorization = `Bearer ${FIRST_TOKEN}`;
    const { headers: sent } = await app.inject({ url, headers: { authorization, ...headers } });
    return sent['content-encoding'] ?? null;
  };
  const gzip = { 'accept-encoding': 'gzip, deflate' };
  t.equal(await encodingOf('/help', { ...gzip, 'sec-fetch-site': 'same-origin' }), 'gzip');
  t.equal(await encodingOf('/help', { ...gzip, 'sec-fetch-site': 'none' }), 'gzip');
  t.equal(await encodingOf('/help', { ...gzip, 'sec-fetch-site': 'cross-site' }), null);
  t.equal(await encodingOf('/help', { ...gzip, 'sec-fetch-site': 'same-site' }), null);
  t.equal(await encodingOf('/help', gzip), null);
  const refused = { 'accept-encoding': 'gzip;q=0, br', 'sec-fetch-site': 'none' };
  t.equal(await encodingOf('/help', refused), null);
  t.equal(await encodingOf('/v1/events', { ...gzip, 'sec-fetch-site': 'same-origin' }), null);
  const page = await opened('/help');
  const asset = await page.locator('script[src*=console]').getAttribute('src');
  t.equal((await fetch(base + asset)).headers.get('content-encoding'), 'gzip');
  t.equal(await encodingOf(asset ?? '', {}), null);
});
