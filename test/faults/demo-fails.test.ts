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
import { collect } from '../support/collect.ts';

/** The steps that compare the ledger and play the payroll runs. */
const LEDGER_STEP = 7;

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

t.test('a ledger that differs from the service fails its step, naming the field', async (t) => {
  const { exitCode, noted } = await playOn(t, (stage) => {
    const deductions: Stage['simulator']['deductions'] = () => {
      const [first, ...rest] = stage.simulator.deductions();
      return [{ ...first!, taxability: 'post_tax' }, ...rest];
    };
    return { ...stage, simulator: { ...stage.simulator, deductions } };
  });
  t.equal(exitCode, 1);
  t.match(noted, `The demo ended at step ${LEDGER_STEP}`);
  t.match(noted, 'another taxability in the ledger');
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
