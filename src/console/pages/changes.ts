/** The place "Changes". */
import type { FastifyInstance } from 'fastify';
import type { ConsoleParts } from '../parts.ts';
import { decidingActions } from './changes/deciding.ts';
import { changeListPages } from './changes/list.ts';
import { oneChangePages } from './changes/one.ts';

export function changePages(app: FastifyInstance, parts: ConsoleParts): void {
  changeListPages(app, parts);
  oneChangePages(app, parts);
  decidingActions(app, parts);
}
