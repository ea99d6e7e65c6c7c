/** The console sessions of the caller's own token or person. */
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { notFound } from '../../errors.ts';
import { cursorOf, LIMIT_DEFAULT } from '../../formats/cursor.ts';
import { type Ending, endSessions, listSessions as sessionsOf } from '../../security/sessions.ts';
import { type Caller, hashOfCaller } from '../../security/tokens.ts';
import { actingIn } from '../auth.ts';
import { Answer, type Call, operation, type Parts } from '../operation.ts';
import { cursor, limit, ownId, pageOf } from '../schemas.ts';

const Session = field.component(
  'Session',
  {
    id: field.text('The ID of the session.'),
    created_at: field.text('The time of the sign-in.'),
    last_used_at: field.text('The time the person last used the session, to the minute.'),
    is_current: field.boolean('The request was made with this session.'),
  },
  'A session at the console.',
);

const position = cursorOf('sessions', field.closed({ created_at: Type.String(), id: Type.String() }));

async function ownerHashOf({ caller }: Pick<Call, 'caller'>, { db, firstToken }: Parts): Promise<Buffer> {
  const hash = await hashOfCaller(db, caller as Caller, firstToken);
  if (hash === null) throw notFound('session');
  return hash;
}

function end(call: Pick<Call, 'actor'>, ending: Ending, { db, sharedNow }: Parts): Promise<number> {
  return transact(db, async (trx) => endSessions(trx, ending, actingIn(call, await sharedNow(trx))));
}

export const listSessions = operation({
  id: 'listSessions',
  method: 'GET',
  path: '/v1/sessions',
  scope: 'self',
  employers: 'none',
  summary: 'List your sessions',
  description:
    "The console sessions of the caller's token, or of the signed-in person, that have not ended, newest first. There are at most 20: another sign-in ends the oldest.",
  query: field.closed({ cursor, limit }),
  response: { 200: pageOf(Session) },
  async run(call, parts) {
    const owner = { hash: await ownerHashOf(call, parts), secret: call.session };
    const { cursor, limit = LIMIT_DEFAULT } = call.query;
    const page = { before: position.decode(cursor), limit, now: await parts.sharedNow(parts.db) };
    const { sessions, next } = await sessionsOf(parts.db, owner, page);
    return position.page(sessions, next);
  },
});

export const endOtherSessions = operation({
  id: 'endOtherSessions',
  method: 'DELETE',
  path: '/v1/sessions',
  scope: 'self',
  employers: 'none',
  action: 'session.end',
  summary: 'End all your other sessions',
  description:
    "Ends every session of the caller's token or person except the session that makes the request.",
  response: { 204: Type.Null({ description: 'The sessions have ended.' }) },
  async run(call, parts) {
    const owner = await ownerHashOf(call, parts);
    const count = await end(call, { owner, except: call.session }, parts);
    return new Answer(null, { logged: { count } });
  },
  logs: () => [{}, 'sessions were ended'],
});

export const endSession = operation({
  id: 'endSession',
  method: 'DELETE',
  path: '/v1/sessions/:session_id',
  scope: 'self',
  employers: 'none',
  action: 'session.end',
  summary: 'End one of your sessions',
  description: "The session's next request is refused. Another token's or person's session is a 404.",
  params: field.closed({ session_id: ownId }),
  response: { 204: Type.Null({ description: 'The session has ended.' }) },
  refuses: ['NOT_FOUND'],
  async run(call, parts) {
    const owner = await ownerHashOf(call, parts);
    const count = await end(call, { owner, id: call.params.session_id }, parts);
    if (count === 0) throw notFound('session');
  },
  logs: () => [{ count: 1 }, 'sessions were ended'],
});
