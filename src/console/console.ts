/** The console: web pages on the private listener, next to the API that they render. */
import type { FastifyInstance } from 'fastify';
import { readForms } from './forms.ts';
import { assetRoutes } from './layout.ts';
import { liveRoute } from './live.ts';
import { type ConsoleParts, createConsole, sendError, sendUnknown } from './page.ts';
import { auditPages } from './pages/audit.ts';
import { censusPages } from './pages/census.ts';
import { censusUploads } from './pages/census-upload.ts';
import { changePages } from './pages/changes.ts';
import { eventPages } from './pages/events.ts';
import { homePages } from './pages/home.ts';
import { itemActions } from './pages/items/decide.ts';
import { itemPages } from './pages/items/list.ts';
import { deductionPages } from './pages/ledger/deduction.ts';
import { employeePages } from './pages/ledger/employee.ts';
import { ledgerPages } from './pages/ledger/list.ts';
import { operationPages } from './pages/operations.ts';
import { approvalPages } from './pages/runs/approve.ts';
import { runEmployeePages } from './pages/runs/employees.ts';
import { finalizePages } from './pages/runs/finalize.ts';
import { runLinePages } from './pages/runs/lines.ts';
import { newRunPages } from './pages/runs/new.ts';
import { overridePages } from './pages/runs/overrides.ts';
import { payrollFilePages } from './pages/runs/payroll-files.ts';
import { runPages } from './pages/runs/run.ts';
import { sessionPages } from './pages/sessions.ts';
import { editorPages } from './pages/settings/editors.ts';
import { settingPages } from './pages/settings/overview.ts';
import { providerSignInRoutes } from './provider-sign-in.ts';
import { signInRoutes } from './sign-in.ts';

/** Adds the console to the API's listener. Call it before the listener listens. */
export function addConsole(api: FastifyInstance, parts: ConsoleParts): void {
  api.unknownPage = (request, reply) => sendUnknown(request, reply, parts);
  api.register(async (app) => {
    await readForms(app);
    app.setErrorHandler((error, request, reply) => sendError(request, reply, parts, error));
    assetRoutes(app);
    signInRoutes(app, parts);
    providerSignInRoutes(app, parts);
    liveRoute(app, parts);
    const pages = createConsole(app, parts);
    homePages(pages);
    operationPages(pages);
    eventPages(pages);
    ledgerPages(pages);
    deductionPages(pages);
    employeePages(pages);
    runPages(pages);
    newRunPages(pages);
    runEmployeePages(pages);
    runLinePages(pages);
    overridePages(pages);
    approvalPages(pages);
    finalizePages(pages);
    payrollFilePages(pages);
    itemPages(pages);
    itemActions(pages);
    settingPages(pages);
    editorPages(pages);
    censusPages(pages);
    censusUploads(pages);
    changePages(pages);
    auditPages(pages);
    sessionPages(pages);
  });
}
