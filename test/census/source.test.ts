import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, symlinkSync, truncateSync } from 'node:fs';
import t from 'tap';
import type { CensusContent } from '../../src/census/reading.ts';
import { createDirSource } from '../../src/census/source-dir.ts';
import { createHttpSource } from '../../src/census/source-http.ts';
import { stubService } from '../outbox/stub-service.ts';

const never = new AbortController().signal;

async function text({ content }: CensusContent): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const part of content) all.push(part);
  return Buffer.concat(all).toString('utf8');
}

t.test('dir: the file of an employer is JSON, or a table with a separate organization', async (t) => {
  const folder = t.testdir({
    'a.json': '{}',
    'a.csv': 'no',
    'b.csv': 'x,y',
    'b.organization.json': '{"o":1}',
    'c.csv': 'z',
    'e.xlsx': 'PK',
    'e.organization.json': '{}',
  });
  const source = createDirSource(folder);
  const a = await source.fetch('a', never);
  t.equal(a.format, 'json');
  t.equal(await text(a), '{}');
  const b = await source.fetch('b', never);
  t.equal(b.format, 'csv');
  t.equal(await text(b), 'x,y');
  t.equal(Buffer.from(b.organization!).toString(), '{"o":1}');
  const c = await source.fetch('c', never);
  t.equal(c.organization, null);
  await text(c);
  const e = await source.fetch('e', never);
  t.match(e, { format: 'csv', organization: Buffer.from('{}') });
  await text(e);
  await t.rejects(source.fetch('d', never), {
    code: 'CENSUS_SOURCE_FAILED',
    message: /no file for this employer/,
  });
});

t.test('dir: an id that is not a plain file name is rejected', async (t) => {
  const folder = t.testdir({ 'secret.json': '{}', inside: { '.hidden.json': '{}' } });
  const source = createDirSource(`${folder}/inside`);
  const ids = [
    '../secret',
    '..',
    '.',
    '',
    '.hidden',
    'a/b',
    '/etc/passwd',
    'a\\b',
    'a\0b',
    'x'.repeat(300),
    '\ud800',
  ];
  for (const id of ids)
    await t.rejects(
      source.fetch(id, never),
      { code: 'CENSUS_SOURCE_FAILED', message: /employer ID/ },
      JSON.stringify(id),
    );
});

t.test('dir: links, FIFOs, folders and files beyond the limit are rejected immediately', async (t) => {
  const folder = t.testdir({ 'target.json': '{}', 'big.json': '', 'csv.csv': 'x' });
  symlinkSync(`${folder}/target.json`, `${folder}/link.json`);
  symlinkSync(`${folder}/target.json`, `${folder}/csv.organization.json`);
  execFileSync('mkfifo', [`${folder}/fifo.json`]);
  mkdirSync(`${folder}/folder.json`);
  truncateSync(`${folder}/big.json`, 1024 ** 3);
  const source = createDirSource(folder);
  const refusals: [string, RegExp][] = [
    ['link', /link\.json is a link/],
    ['csv', /csv\.organization\.json is a link/],
    ['fifo', /is not a regular file/],
    ['folder', /is not a regular file/],
    ['big', /is larger than 256 MiB/],
  ];
  for (const [id, message] of refusals)
    await t.rejects(source.fetch(id, never), { code: 'CENSUS_SOURCE_FAILED', message });
});

t.test('dir: a file that changes while it is read is refused', async (t) => {
  const folder = t.testdir({ 'a.csv': 'x'.repeat(200_000) });
  const { content } = await createDirSource(folder).fetch('a', never);
  const read = async (): Promise<void> => {
    for await (const _ of content) appendFileSync(`${folder}/a.csv`, 'y');
  };
  await t.rejects(read(), { code: 'CENSUS_SOURCE_FAILED', message: /changed while it was read: try again/ });
});

t.test('http: the URL has the encoded id, and a header has the token', async (t) => {
  const { url, received } = await stubService(t, (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":1}'),
  );
  const source = createHttpSource(`${url}/employers/{employer_id}/census?full=1`, 'source-token', '9.9.9');
  const content = await source.fetch('../a b', never);
  t.equal(content.format, 'json');
  t.equal(await text(content), '{"a":1}');
  t.equal(received[0]?.path, '/employers/..%2Fa%20b/census?full=1');
  const headers = { authorization: 'Bearer source-token', 'user-agent': 'benefits-sidecar/9.9.9' };
  t.match(received[0]?.headers, headers);
  await t.rejects(source.fetch('..', never), { code: 'CENSUS_SOURCE_FAILED' });
  t.equal(received.length, 1);
});

t.test('http: CSV has its content type, and its organization is in a header', async (t) => {
  const { url } = await stubService(t, (response) =>
    response
      .writeHead(200, { 'content-type': 'text/csv; charset=utf-8', 'census-organization': '{"o":1}' })
      .end('a,b'),
  );
  const content = await createHttpSource(`${url}/{employer_id}`, null, '9.9.9').fetch('a', never);
  t.equal(content.format, 'csv');
  t.equal(Buffer.from(content.organization!).toString(), '{"o":1}');
  await text(content);
});

t.test('http: other responses are rejected with their status, and redirects are not followed', async (t) => {
  const { url, received } = await stubService(t, (response, { path }) => {
    const status = Number(path.slice(1));
    response
      .writeHead(status, { location: '/200', ...(status === 200 && { 'content-encoding': 'gzip' }) })
      .end('x');
  });
  const source = createHttpSource(`${url}/{employer_id}`, 'source-token', '9.9.9');
  for (const status of ['302', '307', '404', '401', '500', '204']) {
    await t.rejects(source.fetch(status, never), {
      code: 'CENSUS_SOURCE_FAILED',
      message: new RegExp(`responded with ${status}`),
    });
  }
  await t.rejects(source.fetch('200', never), { message: /compressed/ });
  t.equal(received.length, 7);
});

t.test('http: a source that is down or interrupted fails at any point', async (t) => {
  const { url } = await stubService(t, (response, { path }) => {
    if (path === '/reset') return response.socket?.resetAndDestroy();
    response.writeHead(200, { 'content-length': '100' }).write('{"half":');
    return setImmediate(() => response.destroy());
  });
  const source = createHttpSource(`${url}/{employer_id}`, null, '9.9.9');
  await t.rejects(source.fetch('reset', never), { code: 'CENSUS_SOURCE_FAILED' });
  await t.rejects(text(await source.fetch('half', never)), { code: 'CENSUS_SOURCE_FAILED' });
});
