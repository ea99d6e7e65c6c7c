import Type from 'typebox';
import type { ApiParts } from '../parts.ts';
import { Refusal } from '../problem.ts';
import type { Api } from '../schemas.ts';

const RETRY_AFTER_SECONDS = 1;

/** An answer without a body. */
const nothing = (description: string) => Type.Unsafe<undefined>({ type: 'null', description });

/** For whoever starts and watches the process. Public: they tell yes or no and nothing else. */
export function healthRoutes(app: Api, { isReady }: ApiParts): void {
  app.get(
    '/livez',
    {
      config: { scope: 'public' },
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
      config: { scope: 'public', refuses: ['unavailable'] },
      schema: {
        operationId: 'canCommit',
        tags: ['Health'],
        summary: 'Can the process commit?',
        description:
          'Asks the database by a commit. Whether payroll can trust the ledger is `/v1/readiness`.',
        response: { 200: nothing('It can.') },
      },
    },
    async (_request, reply) => {
      if (await isReady()) return reply.code(200).send();
      throw new Refusal('unavailable', '', { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } });
    },
  );
}
