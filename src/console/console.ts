/** The console: pages for people, on the private listener. */
import type { FastifyInstance } from 'fastify';
import { assetRoutes } from './assets.ts';
import { sendError } from './errors.ts';
import { readForms } from './forms.ts';
import { liveRoute } from './live.ts';
import { censusPages } from './pages/censuses.ts';
import { changePages } from './pages/changes.ts';
import { ledgerPages } from './pages/deductions.ts';
import { eventPages } from './pages/events.ts';
import { overviewPages } from './pages/overview.ts';
import { payrollPages } from './pages/runs.ts';
import { sessionPages } from './pages/sessions.ts';
import type { ConsoleParts } from './parts.ts';
import { signInRoutes } from './sign-in.ts';
import { unknownPage } from './unknown-page.ts';
import { readUploads } from './upload.ts';

/** Adds it to the listener that the API is on, before that listens. */
export function addConsole(api: FastifyInstance, parts: ConsoleParts): void {
  api.unknownPage = async (request, reply) => unknownPage(request, reply, parts);
  api.register(async (app) => {
    await readForms(app);
    await readUploads(app);
    app.setErrorHandler((error, request, reply) => sendError(request, reply, parts, error));
    assetRoutes(app);
    signInRoutes(app, parts);
    liveRoute(app, parts);
    for (const declare of PAGES) declare(app, parts);
  });
}

const PAGES = [
  overviewPages,
  eventPages,
  ledgerPages,
  payrollPages,
  censusPages,
  changePages,
  sessionPages,
] as const;
