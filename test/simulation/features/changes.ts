/** Employment changes: payroll reports each until it is accepted, with one idempotency key. */
import { pick } from '../../../src/simulator/random.ts';
import { giveHire, type Hire } from '../given-names.ts';
import { idOf } from '../service.ts';
import type { Simulation } from '../simulation.ts';
import { dayOf, daysAfter } from '../world.ts';
import type { Feature } from './features.ts';

export const CHANGES: Feature = {
  plan(simulation) {
    const { world, days } = simulation;
    const draw = simulation.random('changes');
    const count = Math.ceil(days * world.employers.length * 0.5);
    for (let index = 0; index < count; index += 1)
      simulation.schedule(0.2 + draw() * 0.8, 'change', () => change(simulation, index));
  },
  rush(simulation) {
    const { time } = simulation;
    for (let index = 0; index < 4; index += 1) {
      const draw = simulation.random('rush', 'change', index, time.now());
      time.after(draw() * 300_000, 'change', () => change(simulation, time.now()));
    }
  },
  invariants: {
    'the service receives the changes of an employee in order': outOfOrder,
    'a lost attempt is treated as unknown, and marks a rejection': `
      select request_id, state from outbox where (unknown_outcome = 0 or (state = 'rejected' and may_have_been_applied = 0))
      and exists (select 1 from delivery_attempts where delivery_attempts.request_id = outbox.request_id and (
        reason = 'the sender stopped during the attempt' or reason = 'no response was received: UND_ERR_SOCKET'
        or reason = 'no response was received: TIMEOUT'))`,
    'only the last attempt of a request is confirmed': `
      select request_id, attempt from delivery_attempts where reason in
        ('the service responded with 200', 'the service responded with 202')
      and exists (select 1 from delivery_attempts as later
        where later.request_id = delivery_attempts.request_id and later.attempt > delivery_attempts.attempt)`,
    'the last attempt of a request decides': `
      select request_id, state, outbox.status, last.status as attempted, last.finished_at
      from outbox join delivery_attempts as last using (request_id)
      where attempt = attempts and state in ('pending', 'delivered', 'rejected')
        and (last.finished_at is null or outbox.status is not last.status)
        and (state <> 'pending' or outbox.status is not null)`,
    'an attempt has ended when the next one begins': `
      select request_id, attempt from delivery_attempts where finished_at is null and exists (
        select 1 from delivery_attempts as later
        where later.request_id = delivery_attempts.request_id and later.attempt > delivery_attempts.attempt)`,
    'a delivered request was applied by the service': ({ machine, service }) => {
      const keys = new Set([...service.applied.keys()].map(idOf));
      return machine
        .query<{ request_id: string }>("select request_id from outbox where state = 'delivered'")
        .filter(({ request_id }) => !keys.has(request_id))
        .map(({ request_id }) => `${request_id} is delivered, and the service does not have it`);
    },
  },
  rests: {
    'every request has ended':
      "select request_id, state, reason, due_at from outbox where state in ('pending', 'sending')",
    'the circuit breaker is active': "select reason from circuit_breaker where state <> 'active'",
  },
  situations: {
    'takeover of a claim': "delivery_attempts where reason = 'the sender stopped during the attempt'",
    'attempt longer than a claim': `delivery_attempts where unixepoch(finished_at) - unixepoch(started_at) > 60
      and reason <> 'the sender stopped during the attempt'`,
    'rejected request': 'delivery_attempts where status = 422',
    'held request': 'delivery_attempts where status = 403',
    'paused sending': 'delivery_attempts where status = 401',
    'lost response': "delivery_attempts where reason like '%UND_ERR_SOCKET%'",
    'whole timeout': "delivery_attempts where reason like '%TIMEOUT%'",
  },
};

/** The service must apply the requests of a subject in the order of the queue, except requests that it rejected before. */
function outOfOrder({ machine, service }: Simulation): string[] {
  const order = [...new Set([...service.applied.keys()].map(idOf))];
  const queue = machine.query<{ request_id: string; subject: string }>(
    "select request_id, subject_id as subject from outbox where subject_type = 'employee' order by seq",
  );
  const last = new Map<string, number>();
  const wrong: string[] = [];
  for (const { request_id, subject } of queue) {
    const place = order.indexOf(request_id);
    if (place === -1 || service.rejected.has(request_id)) continue;
    if (place < (last.get(subject) ?? -1))
      wrong.push(`${request_id} of ${subject} reached the service before an older change`);
    last.set(subject, place);
  }
  return wrong;
}

function change(simulation: Simulation, index: number): void {
  const { world, time } = simulation;
  const draw = simulation.random('change', index);
  const today = dayOf(time.now());
  const everyone = world.everyone().filter(({ person }) => person.terminated === null);
  const { employer, person } = pick(draw, everyone);
  const employee_id = person.employee.employee_id;
  const kind = draw();
  const report = (name: string, body: object): void => send(simulation, name, body, `change-${index}`);
  const staying = employer.people.filter(({ terminated }) => terminated === null);
  if (kind < 0.3) {
    const hired = world.newPerson(employer, daysAfter(today, Math.floor(draw() * 20) - 10));
    employer.people.push(hired);
    report('new-hire', { ...hired.employee, employer_id: employer.id });
  } else if (kind < 0.5 && staying.length > 2 && person !== employer.people[0]) {
    // A census without employees is refused.
    const termination_date = daysAfter(today, Math.floor(draw() * 20) - 8);
    person.terminated = termination_date;
    report('termination', { employee_id, termination_date });
  } else if (kind < 0.75) {
    const address = { ...person.employee.address, line1: `${index} Changed Street` };
    person.employee.address = address;
    report('demographic', { employee_id, address });
  } else {
    const pay_frequency = pick(draw, employer.frequencies);
    person.employee.pay_frequency = pay_frequency;
    report('compensation-change', { employee_id, pay_frequency });
  }
}

/** Reports a change until it is accepted. */
export function send(simulation: Simulation, kind: string, body: object, key: string): void {
  const { machine, persist, confirm, count } = simulation;
  const hired = kind === 'new-hire' ? giveHire(simulation, body as Hire) : null;
  const headers = { 'idempotency-key': key };
  const request = () => machine.call('POST', `/v1/employee-changes/${kind}`, body, headers);
  persist('change', request, [202], (response) => {
    confirm('select request_id as id from outbox', (response.body as { id: string }).id);
    hired?.();
    count('changes');
  });
}
