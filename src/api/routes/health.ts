import Type from 'typebox';
import type { NotReady } from '../../database/errors.ts';
import { AppError } from '../../errors.ts';
import type { ApiParts } from '../parts.ts';
import { sendRefusal } from '../problem.ts';
import { taggedOperation } from '../route-table.ts';
import type { Api } from '../schemas.ts';

const operation = taggedOperation('Health');

const RETRY_AFTER_SECONDS = 1;

/** Returns the schema of a response without a body. */
const nothing = (description: string) => Type.Unsafe<undefined>({ type: 'null', description });

/** Why the process cannot commit. The public listener does not show the reason. */
const WHY: Readonly<Record<NotReady, string>> = {
  locked: 'another process or thread holds the write lock of the database',
  'disk-full': 'the disk of the database is full: free some space',
  unreachable: 'the database server does not respond or accepts no more connections',
  'read-only': 'the database is read-only: check its permissions, or which server is the primary',
  failed: 'the database failed: see the log',
};

/** Liveness, readiness of the process, and metrics. Public: no token, and no stored data. */
export function healthRoutes(app: Api, { whyNotReady, log }: ApiParts): void {
  let logged: NotReady | null = null;
  /** Logs each new cause once, however often the route is called. */
  const logChange = (why: NotReady | null): void => {
    if (why === logged) return;
    logged = why;
    if (why === null) log.info({}, 'the process can commit again');
    else log.warn({ reason: WHY[why] }, 'the process cannot commit: readyz responds with 503');
  };

  app.get(
    '/livez',
    operation('public', {
      operationId: 'isAlive',
      summary: 'Check liveness',
      description: 'Responds while the process runs.',
      response: { 200: nothing('The process is alive.') },
      alwaysAnswered: true,
    }),
    async (_request, reply) => reply.code(200).send(),
  );

  app.get(
    '/readyz',
    operation('public', {
      operationId: 'canCommit',
      summary: 'Check whether the process can commit',
      description:
        'Commits a write to the database, and reports why it failed. For whether payroll can trust the ledger, see `/v1/readiness`.',
      response: { 200: nothing('The process can commit.') },
      refuses: ['UNAVAILABLE'],
      alwaysAnswered: true,
    }),
    async (_request, reply) => {
      const why = await whyNotReady();
      logChange(why);
      if (why === null) return reply.code(200).send();
      const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
      return sendRefusal(reply, new AppError('UNAVAILABLE', WHY[why], { headers }));
    },
  );
}
