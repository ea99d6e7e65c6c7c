/** Second approval: some employers require that another person approves finalizing and voiding. */
import type { Random } from '../../../src/simulator/random.ts';
import type { Simulation } from '../simulation.ts';
import type { Feature } from './features.ts';
import { admit, hasPeople, type Person, peopleOf } from './people.ts';

/** The actions on runs while their employer required an approval, each with the person of the token. */
const DONE = `
  select done.record_id, done.resource_id as run_id, substr(done.action, 5) as action, done.details ->> 'approval_id' as approval_id,
    (select person from tokens where token_id = done.actor_id) as person
  from audit_records as done where done.action in ('run.finalize', 'run.void')
    and (select required from approval_settings where employer_id = done.employer_id and record_id < done.record_id
      order by version desc limit 1) = 1`;

/** The revocations of the tokens that approved a run. */
const REVOKED = `
  select revoked.record_id, run_approvals.record_id as approval_id, run_id, run_approvals.action from run_approvals
    join audit_records as approving using (record_id)
    join audit_records as revoked on revoked.action = 'token.revoke' and revoked.resource_id = approving.actor_id`;

const APPROVED = 'select cast(record_id as text) as id from run_approvals';

export const APPROVALS: Feature = {
  plan(simulation) {
    const { world } = simulation;
    for (const { id } of world.employers) {
      const draw = simulation.random('approvals', id);
      if (draw() < 0.4) continue;
      const set = (share: number, required: boolean, person: Person): void =>
        simulation.schedule(share, 'approval', () => setApproval(simulation, id, required, person));
      set(draw() * 0.3, true, 'manager');
      if (draw() < 0.6) set(0.5 + draw() * 0.5, false, 'manager');
      if (draw() < 0.6) set(0.5 + draw() * 0.5, false, 'owner');
    }
  },
  invariants: {
    'another person approved this action on these lines': `
      select run_id, action from (${DONE}) as done where not exists (
      select 1 from run_approvals as given join payroll_runs using (run_id)
      where given.record_id = cast(done.approval_id as integer) and given.record_id < done.record_id
        and given.run_id = done.run_id and given.action = done.action
        and given.etag = payroll_runs.etag and given.person <> done.person
        and not exists (select 1 from audit_records as withdrawn
          where withdrawn.action = 'run.approval-withdraw' and withdrawn.record_id < done.record_id
            and withdrawn.resource_id = done.run_id and withdrawn.details ->> 'approval_id' = done.approval_id)
        and not exists (select 1 from (${REVOKED}) as revoked
          where revoked.approval_id = given.record_id and revoked.record_id < done.record_id))`,
    'two persons stop requiring an approval': `
      select off.employer_id from approval_settings as off where required = 0 and not exists (
      select 1 from approval_settings as asked join audit_records using (record_id)
      where asked.employer_id = off.employer_id and asked.version = off.version - 1
        and asked.requested_by <> (select details ->> 'person' from audit_records where record_id = off.record_id))`,
  },
  situations: {
    'approved finalization': `(${DONE}) where action = 'finalize'`,
    'approved void': `(${DONE}) where action = 'void'`,
    'withdrawn approval': "audit_records where action = 'run.approval-withdraw'",
    'approval whose token was revoked before the run was final': `(${REVOKED}) as revoked join (${DONE}) as done using (run_id, action)
      where revoked.record_id < done.record_id`,
    'approval of other lines':
      "run_approvals as given join payroll_runs using (run_id) where action = 'finalize' and given.etag <> payroll_runs.etag",
    'approval no longer required': 'approval_settings where required = 0',
  },
};

function setApproval(simulation: Simulation, employerId: string, required: boolean, person: Person): void {
  // The payroll system is no person.
  if (!hasPeople(simulation, employerId)) return;
  const people = peopleOf(simulation, employerId);
  const body = { required, reason: 'set in the simulation' };
  const url = `/v1/employers/${employerId}/second-approval`;
  simulation.persist('approval', () => people[person]('PUT', url, body), [200]);
}

/** A run of an employer. `body`: as it is created. */
export type SimulatedRun = { runId: string; employerId: string; body: object };

/**
 * Approves the next action on a run, mostly by another person than the manager. One action in five gets no approval, a few
 * approvals are withdrawn, and the tokens of a few others are revoked.
 */
export async function approve(
  simulation: Simulation,
  { employerId, runId }: SimulatedRun,
  approval: { action: 'finalize' | 'void'; accept?: readonly string[] },
  headers: { 'if-match'?: string },
  draw: Random,
): Promise<void> {
  if (!hasPeople(simulation, employerId) || draw() < 0.2) return;
  const person = draw() < 0.9 ? 'owner' : 'manager';
  const body = { ...approval, reason: 'approved in the simulation' };
  const url = `/v1/payroll-runs/${runId}/approval`;
  const response = await peopleOf(simulation, employerId)[person]('POST', url, body, headers);
  if (response?.status !== 201) return;
  simulation.confirm(APPROVED, (response.body as { id: string }).id);
  const kind = draw();
  if (kind < 0.2) await peopleOf(simulation, employerId)[person]('DELETE', url);
  else if (kind < 0.3) admit(simulation, employerId, [person]);
}
