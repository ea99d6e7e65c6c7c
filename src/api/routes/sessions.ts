import type { FastifyRequest } from 'fastify';
import Type from 'typebox';
import * as field from '../../contract/fields.ts';
import { transact } from '../../database/transaction.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { record } from '../../security/audit.ts';
import { endOtherSessions, endSessionById, listSessions } from '../../security/sessions.ts';
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

/** Lists and ends the console sessions of the caller's token, and of no other token. */
export function sessionRoutes(app: Api, { db, now, sharedNow, log, firstToken }: ApiParts): void {
  const tokenHashOf = async ({ caller }: FastifyRequest): Promise<Buffer> => {
    const hash = await hashOfCaller(db, caller as Caller, firstToken);
    if (hash === null) throw notFound('session');
    return hash;
  };

  app.get(
    '/v1/sessions',
    operation('Sessions', 'self', {
      operationId: 'listSessions',
      employers: 'none',
      summary: 'List your sessions',
      description:
        "The console sessions of the caller's token that have not ended, newest first. There are at most 20: another sign-in ends the oldest.",
      querystring: field.closed({ cursor, limit }),
      response: { 200: pageOf(Session) },
    }),
    async (request) => {
      const owner = { tokenHash: await tokenHashOf(request), secret: request.session };
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
      description: "The session's next request is refused. Another token's session is a 404.",
      params: field.closed({ session_id: ownId }),
      response: { 204: Type.Null({ description: 'The session has ended.' }) },
      refuses: ['NOT_FOUND'],
    }),
    async (request, reply) => {
      const tokenHash = await tokenHashOf(request);
      const { session_id } = request.params;
      const acting = actingIn(request, now());
      const isEnded = await transact(db, async (trx) => {
        const ended = await endSessionById(trx, tokenHash, session_id);
        if (ended) await record(trx, acting, { action: 'session.end', resource: session_id });
        return ended;
      });
      if (!isEnded) throw notFound('session');
      log.info({ count: 1, ...by(request) }, 'sessions were ended');
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
      description: "Ends every session of the caller's token except the session that makes the request.",
      response: { 204: Type.Null({ description: 'The sessions have ended.' }) },
    }),
    async (request, reply) => {
      const tokenHash = await tokenHashOf(request);
      const acting = actingIn(request, now());
      const count = await transact(db, async (trx) => {
        const ended = await endOtherSessions(trx, tokenHash, request.session);
        const made = { action: 'session.end', resource: null, details: { count: ended } } as const;
        if (ended > 0) await record(trx, acting, made);
        return ended;
      });
      log.info({ count, ...by(request) }, 'sessions were ended');
      return reply.code(204).send(null);
    },
  );
}
