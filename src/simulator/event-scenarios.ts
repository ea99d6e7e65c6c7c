/** Scenarios of delivered events: duplicate, out of order, forged and unusual. */
import { DEDUCTION_CREATED } from '../contract/events.ts';
import type { MadeEvent } from './events.ts';
import {
  dayFrom,
  employeeOf,
  enrolOne,
  type Scenario,
  type Scene,
  sendInOrder,
  takeCensuses,
} from './scene.ts';
import { FORGERIES } from './sign.ts';

export const EVENT_SCENARIOS = {
  'quiet-day': {
    about: 'censuses are requested, employees enroll, one deduction changes and one ends; no faults',
    see: '`census show` has completed syncs, `deductions list` every employee',
    play: async (scene) => {
      await takeCensuses(scene);
      const employees = [...scene.world.keys()].flatMap((id) => [...scene.employeesOf(id).keys()]);
      const events = employees.flatMap((employeeId) => scene.enrol(employeeId));
      scene.say(`${employees.length} employees enroll: ${events.length} events, each once and in order`);
      await sendInOrder(scene, events);
      const changed = enrolOne(scene, employeeOf(scene), 'vision');
      const ended = enrolOne(scene, employeeOf(scene, 1), 'dental');
      await sendInOrder(scene, [
        ...[changed.event, ended.event],
        scene.changeDeduction(changed.id, { member_contribution: '12.50' }),
        scene.endDeduction(ended.id, dayFrom(scene, 30)),
      ]);
    },
  },
  duplicates: {
    about: 'every event is delivered three times, and one twenty times at once',
    see: '`events list` shows each once; `deductions versions ID` has one version for each',
    play: async (scene) => {
      const events = scene.enrol(employeeOf(scene), ['medical', 'hsa', 'life']);
      await scene.deliverShuffled(events, { duplicates: 2 });
      const { event } = enrolOne(scene, employeeOf(scene, 1), 'vision');
      await scene.send(event, { times: 20 });
      scene.say(`${events.length} events three times each, event ${event.id} twenty times at once`);
    },
  },
  reordered: {
    about: 'a deduction changes four times, and its events arrive newest first',
    see: '`deductions versions ID`: the newest is the latest state, four are marked late',
    play: async (scene) => {
      const { id, event } = enrolOne(scene, employeeOf(scene), 'dental');
      const changes = ['11.00', '12.00', '13.00', '14.00'].map((amount) =>
        scene.changeDeduction(id, { member_contribution: amount }),
      );
      await sendInOrder(scene, [event, ...changes].reverse());
      scene.say(`Deduction ${id}: five events, delivered newest first; the latest amount must be $14.00`);
    },
  },
  ties: {
    about: 'two different events of one deduction have the same created_at',
    see: '`readiness`: ties-changed-content; the later received one counts',
    play: async (scene) => {
      const { id, event } = enrolOne(scene, employeeOf(scene), 'dental');
      const second = `${event.body.created_at?.slice(0, 19)}Z`;
      const change = scene.changeDeduction(id, { member_contribution: '21.00' });
      await sendInOrder(
        scene,
        [event, change].map((made) => withBody(made, { created_at: second })),
      );
      scene.say(`Deduction ${id}: two events with the time ${second}; the latest amount must be $21.00`);
    },
  },
  'bad-signatures': {
    about: 'events have invalid signatures: another secret, another body, an old timestamp',
    see: '`readiness`: signatures-refused; `events list` has none of them',
    play: async (scene) => {
      const { id, event } = enrolOne(scene, employeeOf(scene), 'life');
      await scene.send(event);
      for (const forgery of FORGERIES) {
        const forged = withBody(event, { data: { ...event.body.data, member_contribution: '0.01' } });
        await scene.send({ ...forged, id: `${event.id}_${forgery}` }, { forgery });
        scene.say(`Forged: ${forgery}, ${responseTo(scene, `${event.id}_${forgery}`)}`);
      }
      scene.say(`Deduction ${id} must not have an amount of $0.01`);
    },
  },
  'secret-rotation': {
    about: 'events are signed with the new and the old secret, as on the first day of a rotation',
    see: 'all are acknowledged; with both in WEBHOOK_SECRETS, the old one can be removed',
    play: async (scene) => {
      const next = scene.newSecret();
      scene.signWith([next, ...scene.secrets()]);
      const events = scene.enrol(employeeOf(scene), ['medical', 'vision']);
      await sendInOrder(scene, events);
      scene.say(`${events.length} events signed with both. The new secret, for WEBHOOK_SECRETS: ${next}`);
    },
  },
  'unknown-employee': {
    about: 'a deduction arrives for an employee who is in no census and was never hired',
    see: '`deductions list --matched false`; `readiness`: deductions-unmatched',
    play: async (scene) => {
      const [employerId = ''] = scene.world.keys();
      const employeeId = `${employerId}-unlisted`;
      const { id, event } = enrolOne(scene, employeeId, 'medical');
      await scene.send(event);
      scene.say(
        `Deduction ${id} is for ${employeeId}: it matches after a new hire or a census with that employee`,
      );
    },
  },
  ended: {
    about: 'one deduction ends by date, another by zero amounts, and one arrives for a terminated employee',
    see: '`deductions list --on DATE`; after a termination, a run has open_after_termination',
    play: async (scene) => {
      const byDay = enrolOne(scene, employeeOf(scene), 'vision');
      const byZero = enrolOne(scene, employeeOf(scene, 1), 'vision');
      const yesterday = dayFrom(scene, -1);
      await sendInOrder(scene, [
        ...[byDay.event, byZero.event, scene.endDeduction(byDay.id, yesterday)],
        scene.changeDeduction(byZero.id, { member_contribution: '0.00', employer_contribution: '0.00' }),
      ]);
      scene.say(`Deduction ${byDay.id} ended on ${yesterday}, ${byZero.id} has amounts of zero`);
      const gone = whoLeft(scene);
      if (gone === null) {
        scene.say('No employee was terminated: report a termination and play this again');
        return;
      }
      const late = enrolOne(scene, gone, 'dental');
      await scene.send(late.event);
      scene.say(`Deduction ${late.id} is for ${gone}, whose employment has ended`);
    },
  },
  retroactive: {
    about: 'a deduction changes retroactively from three months ago',
    see: 'the next payroll run has adjustments for finalized runs',
    play: async (scene) => {
      const { id, event } = enrolOne(scene, employeeOf(scene), 'medical');
      const start = `${dayFrom(scene, -90)}T00:00:00Z`;
      const change = scene.changeDeduction(id, { effective_start: start, member_contribution: '31.00' });
      await sendInOrder(scene, [event, change]);
      scene.say(`Deduction ${id}: $31.00 from ${start}`);
    },
  },
  'future-dated': {
    about: 'in two months, one deduction starts, one changes and one ends',
    see: '`deductions list --on DATE` before and after that date',
    play: async (scene) => {
      const day = dayFrom(scene, 60);
      const start = { effective_start: `${day}T00:00:00Z` };
      const begins = enrolOne(scene, employeeOf(scene), 'hsa');
      const changes = enrolOne(scene, employeeOf(scene, 1), 'medical');
      const ends = enrolOne(scene, employeeOf(scene, 2), 'hsa');
      await sendInOrder(scene, [
        // The first event of this deduction.
        scene.changeDeduction(begins.id, start),
        ...[changes.event, scene.changeDeduction(changes.id, { ...start, member_contribution: '51.00' })],
        ...[ends.event, scene.endDeduction(ends.id, day)],
      ]);
      scene.say(`On ${day}: ${begins.id} begins, ${changes.id} changes to $51.00, ${ends.id} ends`);
    },
  },
  deprecated: {
    about: 'employee.deduction-created arrives, once with a deduction and once without',
    see: '`events list --type employee.deduction-created`: the first is applied, the other ignored',
    play: async (scene) => {
      const { id, event } = enrolOne(scene, employeeOf(scene), 'life');
      await scene.send(withBody(event, { event_type: DEDUCTION_CREATED }));
      const changed = { event_type: DEDUCTION_CREATED, data: { plan: 'of another form' } };
      await scene.send({ ...withBody(event, changed), id: `${event.id}_other` });
      scene.say(`Deduction ${id} arrived as deduction-created; event ${event.id}_other is not a deduction`);
    },
  },
  'endpoint-disabled': {
    about:
      'the endpoint refuses everything until the provider disables it; then it is enabled and gets the missed events',
    see: 'no event arrives, `readiness`: signatures-refused; at the end, `events list` has all of them',
    play: async (scene) => {
      const right = scene.secrets();
      scene.signWith([scene.newSecret()]);
      const [first, ...others] = scene.enrol(employeeOf(scene), ['medical', 'dental', 'vision']);
      scene.say('The provider signs with a secret that the receiver does not have');
      await scene.send(first!);
      await scene.until(() => scene.destinations().every(({ disabledAt }) => disabledAt !== null));
      scene.say('All attempts of an event failed: the endpoint is disabled and receives no more events');
      await sendInOrder(scene, others);
      scene.signWith(right);
      await scene.enableEndpoints();
      await scene.settled();
      scene.say(
        `The secret is correct again, the endpoint is enabled, and ${1 + others.length} events were resent`,
      );
    },
  },
} as const satisfies Record<string, Scenario>;

function withBody(event: MadeEvent, fields: Partial<MadeEvent['body']>): MadeEvent {
  return { id: event.id, body: { ...event.body, ...fields } };
}

function responseTo(scene: Scene, eventId: string): string {
  const delivery = scene.deliveries().findLast((delivered) => delivered.eventId === eventId);
  return delivery?.status == null ? 'no response' : `response ${delivery.status}`;
}

function whoLeft(scene: Scene): string | null {
  const today = dayFrom(scene, 0);
  const employees = [...scene.world.keys()].flatMap((id) => [...scene.employeesOf(id).values()]);
  const gone = employees.find(({ termination_date: last }) => last != null && last < today);
  return gone?.employee_id ?? null;
}
