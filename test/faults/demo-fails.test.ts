/**
 * The demo with a broken sidecar or service: the step fails, reports what it expected, and leaves nothing
 * running.
 */
import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import t, { type Test } from 'tap';
import { runDemo } from '../../src/cli/demo/commands.ts';
import { type Stage, setStage } from '../../src/cli/demo/stage.ts';
import { createOutput } from '../../src/cli/output.ts';
import type { Census } from '../../src/contract/census.ts';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { collect } from '../support/collect.ts';

/** The step that plays the first payroll runs. */
const RUN_STEP = 8;

/** Plays the demo on a broken stage. `stopAt` stops it once this text was printed. */
async function playOn(t: Test, tamper: (stage: Stage) => Stage, options: Options = {}) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const [printed, noted] = [collect(stdout), collect(stderr)];
  const stopping = new AbortController();
  stdout.on('data', () => {
    if (options.stopAt !== undefined && printed().includes(options.stopAt)) stopping.abort();
  });
  let folder = '';
  const exitCode = await runDemo({
    once: options.stopAt === undefined,
    out: createOutput({ stdout, stderr }, {}, () => {}),
    signal: stopping.signal,
    set: async () => {
      const stage = await setStage(options.censuses);
      folder = stage.folder;
      t.ok(existsSync(folder));
      return tamper(stage);
    },
  });
  t.notOk(existsSync(folder), 'the scratch folder is removed');
  return { exitCode, printed: printed(), noted: noted() };
}
type Options = { stopAt?: string; censuses?: ReadonlyMap<string, Census> };

t.test('a run with amounts other than the expected ones fails the step', async (t) => {
  const { exitCode, noted } = await playOn(t, (stage) => {
    const list: Stage['api']['list'] = async <T>(path: string, query?: Record<string, string>) => {
      const rows = await stage.api.list<T>(path, query);
      if (!path.endsWith('/lines')) return rows;
      return rows.map((row, nth) => (nth === 0 ? { ...row, member_amount: '43.44' } : row));
    };
    return { ...stage, api: { ...stage.api, list } };
  });
  t.equal(exitCode, 1);
  t.match(noted, `The demo ended at step ${RUN_STEP}`);
  t.match(noted, /expected: dental of maple-bakery-001 on \S+: \["43\.43","43\.43"\]\n +found: +\["43\.44"/);
});

t.test('a census that breaks the contract fails the step that uploads it, naming the field', async (t) => {
  const censuses = structuredClone(makeWorld(DEFAULT_SEED)) as Map<string, Census>;
  const { address } = censuses.get('harbor-clinic')!.employees[2]!;
  (address as { state: string }).state = 'ZZ';
  const { exitCode, noted } = await playOn(t, (stage) => stage, { censuses });
  t.equal(exitCode, 1);
  t.match(noted, 'The demo ended at step 2');
  t.match(noted, 'the census of harbor-clinic to pass the check');
  t.match(noted, 'employees[2].address.state');
  t.notMatch(noted, 'ZZ');
});

t.test('deliveries that never arrive fail the step that needs them', async (t) => {
  const { exitCode, noted } = await playOn(t, (stage) => {
    const deliverShuffled = async (): Promise<void> => {};
    return { ...stage, simulator: { ...stage.simulator, deliverShuffled } };
  });
  t.equal(exitCode, 1);
  t.match(noted, 'The demo ended at step 4');
  t.match(noted, /expected: acknowledged deliveries: 35\n +found: +0$/m);
});

t.test('a sidecar that ends unexpectedly ends the demo', async (t) => {
  const { exitCode, noted } = await playOn(t, (stage) => {
    const failed = Promise.resolve(new Error('the storage failed'));
    return { ...stage, sidecar: { ...stage.sidecar, failed } };
  });
  t.equal(exitCode, 1);
  t.match(noted, 'the storage failed');
});

t.test('a demo stopped in the middle ends immediately and does not report success', async (t) => {
  const { exitCode, printed, noted } = await playOn(t, (stage) => stage, { stopAt: '3. ' });
  t.equal(exitCode, 1);
  t.match(noted, 'The demo ended at step 3');
  t.match(noted, 'It was stopped.');
  t.notMatch(printed, '5. ');
});
