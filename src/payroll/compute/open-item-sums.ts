/** Adds up by kind what stays open of the items of a run's employees. Pure. */
import { amountOf } from '../../money.ts';
import { ITEM_KINDS, type ItemKind, NOTHING, plus, type Sides } from '../calculation/items.ts';
import type { OpenItemSum } from '../records/outcome.ts';
import type { Taking } from './taking.ts';

/** Adds up employee by employee. */
export function createOpenItemSums() {
  const kinds = new Map<ItemKind, { employees: number; items: number; outstanding: Sides }>();
  return {
    add({ left }: Taking): void {
      // Most employees have no items.
      if (left.length === 0) return;
      for (const [kind, ofKind] of Map.groupBy(left, ({ item }) => item.identity.kind)) {
        const { employees, items, outstanding } = kinds.get(kind) ?? {
          ...{ employees: 0, items: 0, outstanding: NOTHING },
        };
        kinds.set(kind, {
          employees: employees + 1,
          items: items + ofKind.length,
          outstanding: ofKind.reduce((sum, entry) => plus(sum, entry.outstanding), outstanding),
        });
      }
    },
    /** Returns the kinds with an open item. */
    sums(): OpenItemSum[] {
      return ITEM_KINDS.flatMap((kind) => {
        const sum = kinds.get(kind);
        if (sum === undefined) return [];
        const { employees, items, outstanding } = sum;
        const amounts = {
          member_amount: amountOf(outstanding.member),
          employer_amount: amountOf(outstanding.employer),
        };
        return [{ kind, employees, items, ...amounts }];
      });
    },
  };
}
