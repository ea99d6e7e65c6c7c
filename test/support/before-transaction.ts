import type { Db } from '../../src/database/tables.ts';

/**
 * Returns the same database for a caller whose next transaction begins only after `work`, as if another process had run
 * between what the caller read and what it writes.
 */
export function beforeTransaction(db: Db, work: () => Promise<unknown>): Db {
  let isDone = false;
  const transaction: Db['transaction'] = () => {
    const builder = db.transaction();
    return Object.assign(Object.create(builder), {
      execute: async (callback: Parameters<typeof builder.execute>[0]) => {
        if (!isDone) {
          isDone = true;
          await work();
        }
        return builder.execute(callback);
      },
    });
  };
  return new Proxy(db, {
    get(target, name) {
      if (name === 'transaction') return transaction;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
