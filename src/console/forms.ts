/** Forms as browsers send them, with an end to their fields: what is made of each would be many times as large. */
import { parse } from 'node:querystring';
import formbody from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../api/problem.ts';
import { count } from './elements/facts.ts';

/** The longest list that is edited has 530 rows of four fields; no other form has as many. */
export const FORM_FIELDS_MAX = 2_500;

/** Once, for the listener's console. */
export async function readForms(app: FastifyInstance): Promise<void> {
  // One more than there may be, so that a form with too many is told from one that is full.
  await app.register(formbody, { parser: (text) => parse(text, '&', '=', { maxKeys: FORM_FIELDS_MAX + 1 }) });
  app.addHook('preValidation', async ({ body, headers }) => {
    if (!headers['content-type']?.startsWith('application/x-www-form-urlencoded')) return;
    if (Object.values((body ?? {}) as object).flat().length > FORM_FIELDS_MAX) {
      throw new Refusal(
        'too-large',
        `a form has at most ${count(FORM_FIELDS_MAX)} fields: nothing was done. Long lists go in by the API or the command line`,
      );
    }
  });
}
