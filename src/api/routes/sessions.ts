import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { type Ending, endSessions, listSessions } from '../../security/sessions.ts';
import { type Caller, hashOfCaller } from '../../security/tokens.ts';
import { actingIn, by } from '../auth.ts';
import { notFound } from '../problem.ts';
import { type Api, type ApiParts, operation } from '../route.ts';
import { cursor, LIMIT_DEFAULT, limit, ownId, pageOf } from '../schemas.ts';

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

/** Lists and ends the console sessions of the caller's token or person only. */
export function sessionRoutes(app: Api, { db, sharedNow, log, firstToken }: ApiParts): void {
  const ownerHashOf = async ({ caller }: FastifyRequest): Promise<Buffer> => {
    const hash = await hashOfCaller(db, caller as Caller, firstToken);
    if (hash === null) throw notFound('session');
    return hash;
  };
  const end = async (request: FastifyRequest, ending: Ending): Promise<number> => {
    const count = await transact(db, async (trx) => {
      return endSessions(trx, ending, actingIn(request, await sharedNow(trx)));
    });
    log.info({ count, ...by(request) }, 'sessions were ended');
    return count;
  };

  app.get(
    '/v1/sessions',
    operation('Sessions', 'self', {
      operationId: 'listSessions',
      employers: 'none',
      summary: 'List your sessions',
      description:
        "The console sessions of the caller's token, or of the signed-in person, that have not ended, newest first. There are at most 20: another sign-in ends the oldest.",
      querystring: field.closed({ cursor, limit }),
      response: { 200: pageOf(Session) },
    }),
    async (request) => {
      const owner = { hash: await ownerHashOf(request), secret: request.session };
      const { cursor, limit = LIMIT_DEFAULT } = request.query;
      const page = { before: position.decode(cursor), limit, now: await sharedNow(db) };
      const { sessions, next } = await listSessions(db, owner, page);
      return position.page(sessions, next);
    },
  );

  app.delete(
    '/v1/sessions/:session_id',
    operation('Sessions', 'self', {
      operationId: 'endSession',
      employers: 'none',
      action: 'session.end',
      summary: 'End one of your sessions',
      description: "The session's next request is refused. Another token's or person's session is a 404.",
      params: field.closed({ session_id: ownId }),
      response: { 204: Type.Null({ description: 'The session has ended.' }) },
      refuses: ['NOT_FOUND'],
    }),
    async (request, reply) => {
      const owner = await ownerHashOf(request);
      const id = request.params.session_id;
      if ((await end(request, { owner, id })) === 0) throw notFound('session');
      return reply.code(204).send(null);
    },
  );

  app.delete(
    '/v1/sessions',
    operation('Sessions', 'self', {
      operationId: 'endOtherSessions',
      employers: 'none',
      action: 'session.end',
      summary: 'End all your other sessions',
      description:
        "Ends every session of the caller's token or person except the session that makes the request.",
      response: { 204: Type.Null({ description: 'The sessions have ended.' }) },
    }),
    async (request, reply) => {
      const owner = await ownerHashOf(request);
      await end(request, { owner, except: request.session });
      return reply.code(204).send(null);
    },
  );
}
