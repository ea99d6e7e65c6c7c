/** Payroll runs: the list, the form, a run with its lines, and what is done with it. */
import type { FastifyInstance } from 'fastify';
import type { ConsoleParts } from '../parts.ts';
import { auditPages } from './runs/audit.ts';
import { runCsv } from './runs/csv.ts';
import { finalizePages } from './runs/finalize.ts';
import { runLinePages } from './runs/lines.ts';
import { runListPages } from './runs/list.ts';
import { newRunPages } from './runs/new.ts';
import { runPages } from './runs/run.ts';
import { runPartPages } from './runs/run-parts.ts';
import { takeBackPages } from './runs/take-back.ts';
import { takenPages } from './runs/taken.ts';
import { codePages } from './settings/codes.ts';
import { settingOverviewPages } from './settings/overview.ts';
import { schedulePages } from './settings/schedule.ts';

export function payrollPages(app: FastifyInstance, parts: ConsoleParts): void {
  for (const declare of PAGES) declare(app, parts);
}

const PAGES = [
  runListPages,
  newRunPages,
  runPages,
  runPartPages,
  runLinePages,
  runCsv,
  finalizePages,
  takeBackPages,
  auditPages,
  takenPages,
  settingOverviewPages,
  schedulePages,
  codePages,
] as const;
