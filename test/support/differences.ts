import { createDifferences, type Difference, type Verifying } from '../../src/database/difference.ts';

/** Returns the differences that a part of `verify` reports. */
export async function differencesOf(verify: (on: Verifying) => Promise<unknown>): Promise<Difference[]> {
  const { report, named } = createDifferences(1_000);
  await verify({ report, looked: () => {}, signal: new AbortController().signal });
  return named;
}
