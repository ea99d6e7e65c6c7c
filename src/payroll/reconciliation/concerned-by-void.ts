/** Decisions and overrides of a run. They do not carry over to the run that replaces it. */
import Type, { type Static } from 'typebox';
import { closed, text } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { decisionsOnRun } from '../facts/decisions.ts';
import { PayrollRunOverride, shownOverrides } from '../lifecycle/overrides.ts';
import { ItemDecision, viewDecision } from './open-items.ts';

/** Decisions in a response. */
const DECISIONS_NAMED = 1_000;

/** Fields of the response to a void. */
export const CONCERNED = {
  decisions: Type.Array(closed({ item_id: text('The open item.'), ...ItemDecision.properties }), {
    description:
      `The first ${DECISIONS_NAMED} decisions about open items of the run. Repeat \`take\` and \`hold\` for the items of the run that replaces it; ` +
      '`write_off` and `paid_directly` keep counting.',
  }),
  overrides: Type.Array(PayrollRunOverride, {
    description: 'The overrides of the run. The run that replaces it has none.',
  }),
};
type Concerned = Static<Type.TObject<typeof CONCERNED>>;

/** Returns the decisions about the items of a run, and its overrides. */
export async function concernedByVoid(db: Db, runId: string): Promise<Concerned> {
  const decisions = await decisionsOnRun(db, runId, DECISIONS_NAMED);
  return {
    decisions: decisions.map(({ made, ...decision }) => {
      return { item_id: decision.item_id as string, ...viewDecision(decision, made.by) };
    }),
    overrides: await shownOverrides(db, runId),
  };
}
