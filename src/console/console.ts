/** The console: web pages on the private listener, next to the API that they render. */
import type { FastifyInstance } from 'fastify';
import { sendError, unknownPage } from './errors.ts';
import { readForms } from './forms.ts';
import { assetRoutes } from './layout.ts';
import { liveRoute } from './live.ts';
import { type ConsoleParts, createConsole } from './page.ts';
import { employerCensusPages } from './pages/censuses/employer.ts';
import { censusListPages } from './pages/censuses/list.ts';
import { censusUploads } from './pages/censuses/upload.ts';
import { changePages } from './pages/changes/change.ts';
import { changeListPages } from './pages/changes/list.ts';
import { eventPages } from './pages/events/event.ts';
import { eventListPages } from './pages/events/list.ts';
import { deductionPages } from './pages/ledger/deduction.ts';
import { employeePages } from './pages/ledger/employee.ts';
import { findPages } from './pages/ledger/find.ts';
import { ledgerListPages } from './pages/ledger/list.ts';
import { overviewPages } from './pages/overview.ts';
import { finalizePages } from './pages/runs/finalize.ts';
import { runLinePages } from './pages/runs/lines.ts';
import { runListPages } from './pages/runs/list.ts';
import { newRunPages } from './pages/runs/new.ts';
import { payrollFilePages } from './pages/runs/payroll-files.ts';
import { runPages } from './pages/runs/run.ts';
import { sessionPages } from './pages/sessions.ts';
import { codePages } from './pages/settings/codes.ts';
import { settingPages } from './pages/settings/overview.ts';
import { policyPages } from './pages/settings/policy.ts';
import { schedulePages } from './pages/settings/schedule.ts';
import { signInRoutes } from './sign-in.ts';

/** Adds the console to the API's listener. Call it before the listener listens. */
export function addConsole(api: FastifyInstance, parts: ConsoleParts): void {
  api.unknownPage = async (request, reply) => unknownPage(request, reply, parts);
  api.register(async (app) => {
    await readForms(app);
    app.setErrorHandler((error, request, reply) => sendError(request, reply, parts, error));
    assetRoutes(app);
    signInRoutes(app, parts);
    liveRoute(app, parts);
    const own = createConsole(app, parts);
    overviewPages(own);
    eventListPages(own);
    eventPages(own);
    ledgerListPages(own);
    findPages(own);
    deductionPages(own);
    employeePages(own);
    runListPages(own);
    newRunPages(own);
    runPages(own);
    runLinePages(own);
    finalizePages(own);
    payrollFilePages(own);
    settingPages(own);
    schedulePages(own);
    codePages(own);
    policyPages(own);
    censusListPages(own);
    employerCensusPages(own);
    censusUploads(own);
    changeListPages(own);
    changePages(own);
    sessionPages(own);
  });
}
