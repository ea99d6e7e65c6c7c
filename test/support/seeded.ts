/**
 * fast-check with the same random values in every run, so that a failure repeats. SEED in the environment sets other
 * values.
 */
import fc from 'fast-check';

export const SEED = Number.parseInt(process.env.SEED ?? '1', 10);
if (Number.isNaN(SEED)) throw new Error('SEED: must be a number');

fc.configureGlobal({ seed: SEED });

export default fc;
