/**
 * fast-check with the same random values in every run, so that a failure repeats. SEED in the environment sets other
 * values. A long campaign reports its failure as it is: to shrink hundreds of years takes hours.
 */
import fc from 'fast-check';

export const SEED = Number.parseInt(process.env.SEED ?? '1', 10);
if (Number.isNaN(SEED)) throw new Error('SEED: must be a number');

fc.configureGlobal({ seed: SEED, endOnFailure: process.env.YEARS !== undefined });

export default fc;
