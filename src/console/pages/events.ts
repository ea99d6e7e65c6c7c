/** The place "Events": what came in, what became of it, and what a person does about it. */
import type { FastifyInstance } from 'fastify';
import type { ConsoleParts } from '../parts.ts';
import { eventListPages } from './events/list.ts';
import { oneEventPages } from './events/one.ts';
import { eventWorkActions } from './events/work.ts';

export function eventPages(app: FastifyInstance, parts: ConsoleParts): void {
  eventListPages(app, parts);
  oneEventPages(app, parts);
  eventWorkActions(app, parts);
}
