/**
 * The demo with a broken sidecar or service: the step fails, reports what it expected, and leaves nothing
 * running.
 */
import { existsSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import t, { type Test } from 'tap';
import { createOutput } from '../../src/cli/output.ts';
import { runDemo } from '../../src/dev/demo/commands.ts';
import { type Stage, setStage } from '../../src/dev/demo/stage.ts';
import { collect } from '../support/collect.ts';

/** The steps that compare the ledger and play the payroll runs. */
const LEDGER_STEP = 7;

/** Plays the demo on a broken stage. */
async function playOn(t: Test, tamper: (stage: Stage) => Stage) {
  const stderr = new PassThrough();
  const noted = collect(stderr);
  let folder = '';
  const exitCode = await runDemo({
    once: true,
    out: createOutput({ stdout: new PassThrough().resume(), stderr }, {}, () => {}),
    signal: new AbortController().signal,
    set: async () => {
      const stage = await setStage();
      folder = stage.folder;
      t.ok(existsSync(folder));
      return tamper(stage);
    },
  });
  t.notOk(existsSync(folder), 'the scratch folder is removed');
  return { exitCode, noted: noted() };
}

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
