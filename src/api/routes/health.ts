import Type from 'typebox';
import type { NotReady } from '../../operations/health.ts';
import type { ApiParts } from '../parts.ts';
import { Refusal, sendRefusal } from '../problem.ts';
import type { Api } from '../schemas.ts';

const RETRY_AFTER_SECONDS = 1;

/** An answer without a body. */
const nothing = (description: string) => Type.Unsafe<undefined>({ type: 'null', description });

/** Why it can't commit, in words. On the private listener only: the public one says that it can't, and no more. */
const WHY: Readonly<Record<NotReady, string>> = {
  locked: 'another process or thread holds the write lock of the database',
  'disk-full': 'the disk of the database is full: make room',
  unreachable: 'the database server does not answer, or takes no more connections',
  'read-only': 'the database can not be written: look at its permissions, or at which server is the primary',
  failed: 'the database failed: look at the log',
};

/** For whoever starts and watches the process. Public: nobody needs a token, and they say nothing of what is stored. */
export function healthRoutes(app: Api, { whyNotReady, log }: ApiParts): void {
  let told: NotReady | null = null;
  /** Once for each cause, however often it is asked: to answer 503 is the work of this route, not its failure. */
  const tell = (why: NotReady | null): void => {
    if (why === told) return;
    told = why;
    if (why === null) log.info({}, 'it can commit again');
    else log.warn({ reason: WHY[why] }, 'it can not commit: readyz answers 503');
  };

  app.get(
    '/livez',
    {
      config: { scope: 'public', alwaysAnswered: true },
      schema: {
        operationId: 'isAlive',
        tags: ['Health'],
        summary: 'Does the process answer?',
        description: 'Answers as long as the process runs.',
        response: { 200: nothing('It does.') },
      },
    },
    async (_request, reply) => reply.code(200).send(),
  );

  app.get(
    '/readyz',
    {
      config: { scope: 'public', alwaysAnswered: true, refuses: ['unavailable'] },
      schema: {
        operationId: 'canCommit',
        tags: ['Health'],
        summary: 'Can the process commit?',
        description:
          'Asks the database by a commit, and says why it could not be made. Whether payroll can trust the ledger is `/v1/readiness`.',
        response: { 200: nothing('It can.') },
      },
    },
    async (_request, reply) => {
      const why = await whyNotReady();
      tell(why);
      if (why === null) return reply.code(200).send();
      const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
      return sendRefusal(reply, new Refusal('unavailable', WHY[why], { headers }));
    },
  );
}
