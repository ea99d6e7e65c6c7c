/** Employment changes in words. */
import type { Schemas } from '../../../client.ts';

type Change = Schemas['AcceptedChange'];

export const KINDS = {
  'new-hire': 'New hire',
  termination: 'Termination',
  demographic: 'Move',
  'compensation-change': 'Change of pay or status',
} as const satisfies Record<Change['kind'], string>;

export const STATES = [
  'pending',
  'sending',
  'delivered',
  'rejected',
  'cancelled',
] as const satisfies readonly Change['state'][];

/** What the state means, and what comes next. */
export function meaning({ state, holding, waits_behind }: Change): string {
  switch (state) {
    case 'pending':
      return waits_behind === null
        ? 'It is sent by itself, and tried again for as long as it takes.'
        : 'It waits until another change of the employee has gone, and is then sent by itself.';
    case 'sending':
      return 'It is being sent now.';
    case 'delivered':
      return 'The service has it. What it said is erased here.';
    case 'rejected':
      return holding
        ? 'The service said no, and the employee’s later changes wait for it: a person decides.'
        : 'The service said no: a person decides.';
    case 'cancelled':
      return 'Somebody gave it up. It is never sent, and what it said is erased.';
  }
}

export function changePath(changeId: string): string {
  return `/changes/${encodeURIComponent(changeId)}`;
}
