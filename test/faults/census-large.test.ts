import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { inTurn, stubService } from '../outbox/stub-service.ts';

const EMPLOYEES = 100_000;
/** The limit for the whole process. */
const MEMORY_MIB = 512;
/** Well below the limit, so that the heap is garbage-collected instead of growing. */
const HEAP_MIB = 256;

t.test('a census of 100,000 employees is staged and uploaded within 512 MiB', async (t) => {
  const { url, received } = await stubService(t, inTurn(200));
  const child = fileURLToPath(new URL('child-large.ts', import.meta.url));
  const database = `sqlite:${t.testdir()}/sidecar.db`;
  const { stdout } = await promisify(execFile)(process.execPath, [
    `--max-old-space-size=${HEAP_MIB}`,
    ...[child, database, url, String(EMPLOYEES)],
  ]);
  const result = JSON.parse(stdout) as { peakMiB: number };
  t.match(result, { ok: true, employees: EMPLOYEES, delivered: 1 });
  t.ok(result.peakMiB < MEMORY_MIB, `peak ${result.peakMiB} MiB`);
  const [upload] = received;
  t.equal(Buffer.byteLength(upload?.body ?? ''), Number(upload?.headers['content-length']));
  t.equal(JSON.parse(upload?.body ?? '{}').employees?.length, EMPLOYEES);
});
