import type { Db, Trx } from '../../database/tables.ts';
import type { Problem } from '../../errors.ts';
import type { Acting } from '../../security/audit.ts';

/** A setting of an employer as the API and the command line set and show it. */
export type Setting<Value, View> = {
  /** Returns the value of a body. Throws SETTINGS_REFUSED. */
  check(body: unknown): Value;
  /** Adds a version, unless the latest one is equal. */
  put(trx: Trx, employerId: string, value: Value, acting: Acting): Promise<void>;
  /** `knownAt`: only versions that were set by this instant. */
  view(db: Db, employerId: string, knownAt?: string): Promise<View>;
};

/** Returns a problem, with this rule, for each element whose key an earlier element has. */
export function repeated<T>(
  list: string,
  elements: readonly T[],
  keyOf: (element: T) => string,
  rule: string,
): Problem[] {
  const keys = elements.map(keyOf);
  return keys.flatMap((key, index) =>
    keys.indexOf(key) < index ? [{ path: `${list}[${index}]`, rule }] : [],
  );
}
