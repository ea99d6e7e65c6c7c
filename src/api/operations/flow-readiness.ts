/** Whether the employer flow of the benefits service may be rendered. */
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { FlowReason, flowReasons } from '../../readiness/flow.ts';
import { operation } from '../operation.ts';
import { EmployerId } from '../schemas.ts';

const FlowReadiness = field.component(
  'FlowReadiness',
  {
    employer_id: field.text('The employer.'),
    ready: field.boolean('The flow may be rendered.'),
    checked_at: field.text('The time of the check.'),
    reasons: Type.Array(FlowReason, { description: 'Everything that is missing. Empty if it is ready.' }),
  },
  'Whether the employer flow may be rendered.',
);

export const getFlowReadiness = operation({
  id: 'getFlowReadiness',
  method: 'GET',
  path: '/v1/employers/:employer_id/flow-readiness',
  scope: ['runs:read', 'census:read'],
  employers: 'new-employer',
  summary: 'Check whether the employer flow may be rendered',
  description:
    "The benefits service may request a census as soon as an employer's flow is rendered. Call this before, and render it only if it is ready. An employer that nothing is known of is not ready.",
  params: EmployerId,
  response: { 200: FlowReadiness },
  async run({ params }, { db, sharedNow, clockWarning, censusFrom, censusMaxAgeMs }) {
    const { employer_id } = params;
    const now = await sharedNow(db);
    const reasons = await flowReasons(db, {
      ...{ employerId: employer_id, now, clockWarning: await clockWarning() },
      ...{ maxAgeMs: censusMaxAgeMs, hasSource: censusFrom !== 'push' },
    });
    return { employer_id, ready: reasons.length === 0, checked_at: now.toISOString(), reasons };
  },
});
