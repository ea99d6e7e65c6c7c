/** Open items: amounts that payroll still owes or is owed, as runs, decisions and lists name them. Pure. */
import type { Cents } from '../../money.ts';

/** Of items of one run and deduction, the order in which runs take them. */
export const ITEM_KINDS = ['arrears', 'opening', 'missed_check', 'adjustment'] as const;
export type ItemKind = (typeof ITEM_KINDS)[number];

/** The identity of an open item. `source`: the id of the earlier run or of the opening item. */
export type ItemIdentity = {
  kind: ItemKind;
  source: string;
  employee_id: string;
  /** Null for an opening item without a deduction. */
  deduction_id: string | null;
  line_of_coverage: string;
  taxability: string;
};

/** Returns the id of an open item. It is derived from the identity alone, so it survives recomputation. */
export function itemId(item: ItemIdentity): string {
  const { kind, source, employee_id, deduction_id, line_of_coverage, taxability } = item;
  return [kind, source, employee_id, deduction_id ?? '', line_of_coverage, taxability]
    .map(encodeURIComponent)
    .join(':');
}

/** Returns the identity of the open item with an id, or null if no item can have the id. */
export function itemIdentity(id: string): ItemIdentity | null {
  const [kind, source, employee_id, deduction_id, line_of_coverage, taxability, more] = decoded(id);
  if (!ITEM_KINDS.some((known) => known === kind) || !source || !employee_id) return null;
  if (deduction_id === undefined || !line_of_coverage || !taxability || more !== undefined) return null;
  return {
    kind: kind as ItemKind,
    ...{ source, employee_id, line_of_coverage, taxability },
    deduction_id: deduction_id === '' ? null : deduction_id,
  };
}

export function isAdjustment({ kind }: Pick<ItemIdentity, 'kind'>): boolean {
  return kind === 'adjustment' || kind === 'missed_check';
}

function decoded(id: string): string[] {
  try {
    return id.split(':').map(decodeURIComponent);
  } catch {
    return [];
  }
}

/** An amount of the employee and of the employer. */
export type Sides = { member: Cents; employer: Cents };

export const NOTHING: Sides = { member: 0n, employer: 0n };

/** Returns the amounts of a line. */
export function sidesOf({ member_amount, employer_amount }: AmountsOfLine): Sides {
  return { member: member_amount, employer: employer_amount };
}

type AmountsOfLine = { member_amount: Cents; employer_amount: Cents };

export function plus(sides: Sides, added: Sides): Sides {
  return { member: sides.member + added.member, employer: sides.employer + added.employer };
}

export function minus(sides: Sides, subtracted: Sides): Sides {
  return { member: sides.member - subtracted.member, employer: sides.employer - subtracted.employer };
}

export function isNothing({ member, employer }: Sides): boolean {
  return member === 0n && employer === 0n;
}
