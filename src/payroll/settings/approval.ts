/** Whether finalizing and voiding the runs of an employer need an approval by another person. */
import Type, { type Static } from 'typebox';
import { boolean, closed, component, nullable, reasonField, text } from '../../contract/fields.ts';
import type { Db, Tables, Trx } from '../../database/tables.ts';
import { notify } from '../../notifications/store.ts';
import { type Acting, Actor, type Made } from '../../security/audit.ts';
import { type Fact, insertFacts, withMakers } from '../../security/facts.ts';
import { endsOfMakers, isSamePerson } from '../../security/tokens.ts';
import { lockPayroll } from './lock.ts';

export const SecondApproval = component(
  'SecondApproval',
  {
    required: boolean('Whether finalizing and voiding need an approval by another person.'),
    set_by: nullable({ ...Actor, description: 'Who set it last. Null if it was never set.' }),
    set_at: Type.Union([text('The time it was set.'), Type.Null()]),
    switching_off: nullable(
      closed(
        {
          requested_by: Actor,
          requested_at: text('The time of the request.'),
          is_yours: boolean('You sent it, so another person must repeat it.'),
        },
        'The request to switch it off, which another person must repeat. Null if there is none, or its token was revoked or expired.',
      ),
    ),
  },
  'Whether the runs of an employer need a second approval.',
);

export const SecondApprovalRequest = component(
  'SecondApprovalRequest',
  {
    required: boolean('`true` takes effect at once. `false` takes effect when another person sends it too.'),
    reason: reasonField('The reason for the change.'),
  },
  'A change of the setting.',
);

type Stored = Omit<Tables['approval_settings'], 'employer_id'> & { made: Made };

/** `person`: the person who sets it; null if unknown. */
type NewSetting = { required: boolean; reason: string; person: string | null };

/** `requested`: another person must switch it off, too. `same`: nothing changed. */
type SetApproval = 'set' | 'requested' | 'same' | 'person-missing';

export async function isApprovalRequired(db: Db | Trx, employerId: string): Promise<boolean> {
  return (await latest(db, employerId))?.required === 1;
}

export const APPROVAL_SETTING: Fact<'approval_settings'> = {
  table: 'approval_settings',
  actions: ['approval-setting.put'],
  subject: { resource: 'employer_id', employer: 'employer_id' },
};

/** Switches second approval on, or off by two persons. */
export async function setApproval(
  trx: Trx,
  employerId: string,
  { required, reason, person }: NewSetting,
  acting: Acting,
): Promise<SetApproval> {
  await lockPayroll(trx);
  const known = await latest(trx, employerId);
  const isOn = known?.required === 1;
  const requestedBy = (await hasEndedRequest(trx, known, acting.now)) ? null : (known?.requested_by ?? null);
  if (required ? isOn && requestedBy === null : !isOn) return 'same';
  if (!required && person === null) return 'person-missing';
  if (person !== null && !required && requestedBy !== null && isSamePerson(requestedBy, person))
    return 'same';
  const isRequest = !required && requestedBy === null;
  const after = { required: required || isRequest, requested_by: isRequest ? person : null };
  const version = (known?.version ?? 0) + 1;
  const before = { required: isOn, requested_by: requestedBy };
  const details = { version, before, after, person };
  const { requested_by } = after;
  const row = { employer_id: employerId, version, required: after.required ? 1 : 0, requested_by } as const;
  await insertFacts(trx, APPROVAL_SETTING, [row], acting, { details, reason });
  if (!isRequest) return 'set';
  const waiting = {
    employer_id: employerId,
    action: 'stop-requiring',
    run_id: null,
    pay_date: null,
  } as const;
  await notify(trx, 'approval.requested', waiting, acting.now);
  return 'requested';
}

/** `person`: who reads it, or null. */
export async function viewApprovalSetting(
  db: Db,
  employerId: string,
  now: string,
  person: string | null,
): Promise<Static<typeof SecondApproval>> {
  const [last, before] = await newest(db, employerId, 2);
  const isRequest = last !== undefined && last.requested_by !== null;
  const set = isRequest ? before : last;
  const isWaiting = isRequest && !(await hasEndedRequest(db, last, now));
  const is_yours = person !== null && isSamePerson(last?.requested_by ?? '', person);
  return {
    required: last?.required === 1,
    set_by: set?.made.by ?? null,
    set_at: set?.made.at ?? null,
    switching_off: isWaiting ? { requested_by: last.made.by, requested_at: last.made.at, is_yours } : null,
  };
}

/** Returns whether the version is a request to switch it off whose token no longer counts. */
async function hasEndedRequest(db: Db | Trx, version: Stored | undefined, now: string): Promise<boolean> {
  if (version === undefined || version.requested_by === null) return false;
  return (await endsOfMakers(db, [version], now)).size > 0;
}

async function latest(db: Db | Trx, employerId: string): Promise<Stored | undefined> {
  return (await newest(db, employerId, 1))[0];
}

function newest(db: Db | Trx, employerId: string, limit: number): Promise<Stored[]> {
  const versions = db
    .selectFrom('approval_settings')
    .select(['version', 'required', 'requested_by', 'record_id'])
    .where('employer_id', '=', employerId)
    .orderBy('version', 'desc')
    .limit(limit);
  return withMakers(versions);
}
