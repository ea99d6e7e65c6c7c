/** Compares the runs of random years with the model. */
import { compareYears } from '../payroll/compute/model-compared.ts';
import { onEachEngine } from '../support/engine.ts';

/** Three to five seconds of CPU time each. `YEARS=500` in the environment compares more. */
const YEARS = Number(process.env.YEARS ?? 3);

/** Of the regular runs, at most so many repeat a warning that waits for no decision. */
const REPEATING_AT_MOST = 0.1;

onEachEngine(
  'every run of many years has the lines of the model, can be verified and names what is new, and all amounts due add up',
  async (t) => {
    const { regular, repeating } = await compareYears(t, YEARS);
    const said = `${repeating} of ${regular} regular runs repeat a warning of the run before`;
    t.ok(repeating <= REPEATING_AT_MOST * regular, said);
  },
);
