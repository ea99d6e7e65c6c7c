/** The place "Census". */
import type { FastifyInstance } from 'fastify';
import type { ConsoleParts } from '../parts.ts';
import { bringActions } from './censuses/bring.ts';
import { employerCensusPages } from './censuses/employer.ts';
import { censusListPages } from './censuses/list.ts';

export function censusPages(app: FastifyInstance, parts: ConsoleParts): void {
  censusListPages(app, parts);
  employerCensusPages(app, parts);
  bringActions(app, parts);
}
