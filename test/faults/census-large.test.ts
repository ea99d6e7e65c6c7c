import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';

const EMPLOYEES = 100_000;
/** The limit for the whole process. */
const MEMORY_MIB = 512;
/** Well below the limit, so that the heap is garbage-collected instead of growing. */
const HEAP_MIB = 256;

t.test('a census of 100,000 employees is staged and uploaded within 512 MiB', async (t) => {
  let bytes = 0;
  let employees = 0;
  let promised = 0;
  const server = createServer((request, response) => {
    promised = Number(request.headers['content-length']);
    request.on('data', (part: Buffer) => {
      bytes += part.length;
      for (let at = part.indexOf('"hire_date"'); at >= 0; at = part.indexOf('"hire_date"', at + 1))
        employees += 1;
    });
    request.on('end', () => response.writeHead(200).end('{}'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const child = fileURLToPath(new URL('child-large.ts', import.meta.url));
  const database = `sqlite:${t.testdir()}/sidecar.db`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    `--max-old-space-size=${HEAP_MIB}`,
    ...[child, database, url, String(EMPLOYEES)],
  ]);
  const result = JSON.parse(stdout) as { peakMiB: number };
  t.match(result, { ok: true, employees: EMPLOYEES, delivered: 1 });
  t.ok(result.peakMiB < MEMORY_MIB, `peak ${result.peakMiB} MiB`);
  t.comment(`peak memory ${result.peakMiB} MiB for an upload of ${Math.round(bytes / 1024 / 1024)} MiB`);
  t.equal(bytes, promised);
  // A name split between two chunks is not counted, but there are few chunks and many employees.
  t.ok(employees > EMPLOYEES * 0.98);
});
