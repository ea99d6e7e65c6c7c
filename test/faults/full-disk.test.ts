import { execFileSync } from 'node:child_process';
import { appendFileSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../support/eventually.ts';
import type { Event } from '../support/load.ts';
import { temporaryFolder } from '../support/memory.ts';
import { breaches } from '../support/oracle.ts';
import { setStage } from '../support/stage.ts';

const DISK_MIB = 12;
const BLOCK = Buffer.alloc(4096, 1);

/** A small disk in memory, removed with the test. */
function smallDisk(t: Test): string {
  const folder = temporaryFolder('disk');
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MIB}m`, 'none', folder]);
  t.teardown(() => {
    execFileSync('umount', [folder]);
    rmdirSync(folder);
  });
  return folder;
}

/** Fills the disk. */
function fill(file: string): void {
  try {
    for (;;) appendFileSync(file, BLOCK);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOSPC') throw error;
  }
}

/** Resizes the disk and keeps its files. */
function resize(folder: string, mib: number): void {
  execFileSync('mount', ['-o', `remount,size=${mib}m`, folder]);
}

const skip = process.getuid?.() === 0 ? false : 'only root can mount a small disk';

t.test('on a full disk no unstored event is acknowledged, and storing resumes', { skip }, async (t) => {
  const disk = smallDisk(t);
  const databaseUrl = `sqlite:${join(disk, 'sidecar.db')}`;
  const stage = await setStage(t, { variables: { DATABASE_URL: databaseUrl } });
  const { api, send, sidecar } = stage;
  const ready = async () => (await fetch(`${sidecar.receiver}/readyz`)).status;
  const acknowledged: Event[] = [];

  for (const round of [1, 2]) {
    await t.test(`time ${round}`, async (t) => {
      const load = stage.load(`disk-${round}`, { events: 200 });
      await load.ended;
      t.equal(load.acknowledged.size, 200);
      acknowledged.push(...load.acknowledged.values());
      await stage.settled();

      const filler = join(disk, 'filler');
      fill(filler);
      // The log still has free space. It is used up once the file cannot take the log's contents.
      const until = stage.load(`full-${round}`);
      await until.ended;
      t.strictSame([...until.refusals.keys()], [503]);
      acknowledged.push(...until.acknowledged.values());
      // Small files take the last pages.
      await eventually('it is not ready', ready, 503);
      const refused = [...until.inDoubt.values()];
      for (const { status, headers } of await Promise.all(refused.map(send)))
        t.match({ status, headers }, { status: 503, headers: { 'retry-after': /^\d+$/ } });
      const schedules = '/v1/employers/employer-4/pay-schedules/2026';
      t.equal((await api.call('PUT', schedules, { schedules: [] })).status, 503);
      t.equal((await fetch(`${sidecar.receiver}/livez`)).status, 200, 'it lives');
      const { data } = await api.get('/v1/deductions?limit=1000');
      t.equal(data.length, 97, 'reading works');

      rmSync(filler);
      await eventually('it is ready again', ready, 200);
      for (const event of refused) t.equal((await send(event)).status, 204);
      acknowledged.push(...refused);
      await stage.settled();
      t.strictSame(await breaches({ databaseUrl, acknowledged }), []);
    });
  }

  t.strictSame(sidecar.logged('fatal'), []);
  t.equal(await sidecar.end('SIGTERM'), 0, 'the same process ran all the time');
});

t.test('readiness reports a filling disk before it is full', { skip }, async (t) => {
  const disk = smallDisk(t);
  resize(disk, 2_048);
  const stage = await setStage(t, { variables: { DATABASE_URL: `sqlite:${join(disk, 'sidecar.db')}` } });
  for (const [mib, result] of [
    [2_048, 'pass'],
    [900, 'warn'],
    [100, 'fail'],
    [2_048, 'pass'],
  ] as const) {
    resize(disk, mib);
    const { ready, checks } = await stage.api.get('/v1/readiness');
    const check = checks.find(({ id }: { id: string }) => id === 'disk-space');
    const findings = result === 'pass' ? [] : [{ text: /^\d+ MiB free, the database has \d+ MiB$/ }];
    t.match(check, { result, findings });
    if (result === 'fail') t.equal(ready, false);
  }
  t.equal(await stage.sidecar.end('SIGTERM'), 0);
});
