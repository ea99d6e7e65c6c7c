/** `GET /live`: the stream that pages listen to for news (news.ts). */
import type { FastifyInstance } from 'fastify';
import { createAuthorize } from '../api/auth.ts';
import { Refusal } from '../api/problem.ts';
import { readActivity } from '../operations/activity.ts';
import { createNews } from './news.ts';
import type { ConsoleParts } from './parts.ts';

const LIVE_PATH = '/live';

/** A page closes its stream when nobody looks at it. */
const RETRY_AFTER_SECONDS = 30;

export function liveRoute(app: FastifyInstance, { db, now, firstToken }: ConsoleParts): void {
  // A minute that passed is news too: the charts and the ages go on.
  const news = createNews(async () => {
    const { database_bytes: _grows, ...activity } = await readActivity(db);
    return JSON.stringify([activity, now().toISOString().slice(0, 16)]);
  });
  const authorize = createAuthorize({ db, now, firstToken }, app.failedAttempt);
  // Else the listener would wait for streams that never end.
  app.addHook('preClose', async () => news.close());

  app.get(LIVE_PATH, { config: { scope: 'any' }, schema: { hide: true } }, (request, reply) => {
    const stream = news.listen(async () => {
      try {
        await authorize(request, reply);
        return true;
      } catch (error) {
        // A database that is away for a moment sends nobody away.
        return !(error instanceof Refusal);
      }
    });
    // Many pages are no fault of the service: nothing is thrown, so nothing is logged.
    if (stream === null) return reply.code(503).header('retry-after', RETRY_AFTER_SECONDS).send();
    return reply.type('text/event-stream').send(stream);
  });
}
