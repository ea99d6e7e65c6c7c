/** Compares the runs of a random year with the model. More years: test/faults/payroll-years.test.ts. */
import { onEitherEngine } from '../../support/engine.ts';
import { compareYears } from './model-compared.ts';

onEitherEngine(
  'every run of a year has the lines of the model, can be verified and names what is new, and all amounts due add up',
  async (t) => {
    await compareYears(t, 1);
  },
);
