/**
 * fast-check with the same random values in every run, so that a failure repeats. SEED in the environment sets other
 * values.
 */
import fc from 'fast-check';

export const SEED = Number(process.env.SEED ?? 1);

fc.configureGlobal({ seed: SEED });

export default fc;
