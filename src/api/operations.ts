/** All operations. In the reference, they are in this order below their tags, and in the order of their declaration. */
import { type Operation, operationsIn } from './operation.ts';
import * as activity from './operations/activity.ts';
import * as audit from './operations/audit.ts';
import * as censusSyncs from './operations/census-syncs.ts';
import * as censusUploads from './operations/census-uploads.ts';
import * as censuses from './operations/censuses.ts';
import * as changeBatch from './operations/change-batch.ts';
import * as changeReports from './operations/change-reports.ts';
import * as cutOver from './operations/cut-over.ts';
import * as deductionAssignments from './operations/deduction-assignments.ts';
import * as deductionImports from './operations/deduction-imports.ts';
import * as deductions from './operations/deductions.ts';
import * as employeeChanges from './operations/employee-changes.ts';
import * as employees from './operations/employees.ts';
import * as employers from './operations/employers.ts';
import * as eventDeliveries from './operations/event-deliveries.ts';
import * as eventWork from './operations/event-work.ts';
import * as events from './operations/events.ts';
import * as evidence from './operations/evidence.ts';
import * as fileFormats from './operations/file-formats.ts';
import * as flowReadiness from './operations/flow-readiness.ts';
import * as names from './operations/names.ts';
import * as notifications from './operations/notifications.ts';
import * as openItems from './operations/open-items.ts';
import * as payDateProposal from './operations/pay-date-proposal.ts';
import * as payrollRunAcceptances from './operations/payroll-run-acceptances.ts';
import * as payrollRunApprovals from './operations/payroll-run-approvals.ts';
import * as payrollRunCreation from './operations/payroll-run-creation.ts';
import * as payrollRunEmployees from './operations/payroll-run-employees.ts';
import * as payrollRunFindings from './operations/payroll-run-findings.ts';
import * as payrollRunLines from './operations/payroll-run-lines.ts';
import * as payrollRunOverrides from './operations/payroll-run-overrides.ts';
import * as payrollRunWork from './operations/payroll-run-work.ts';
import * as payrollRuns from './operations/payroll-runs.ts';
import * as payrollSettings from './operations/payroll-settings.ts';
import * as payrollsDue from './operations/payrolls-due.ts';
import * as readiness from './operations/readiness.ts';
import * as search from './operations/search.ts';
import * as sessions from './operations/sessions.ts';
import type { Tag } from './tags.ts';

const { convertCensus, ...settingFormats } = fileFormats;
const { getSecondApproval, putSecondApproval, ...approvals } = payrollRunApprovals;

const NOUNS: Readonly<Partial<Record<Tag, readonly object[]>>> = {
  Census: [censuses, censusUploads, censusSyncs, { convertCensus }],
  Employment: [changeReports, changeBatch, employeeChanges, employees, names, search],
  Deductions: [deductions, deductionAssignments, deductionImports, cutOver],
  Events: [events, eventWork, eventDeliveries],
  Readiness: [readiness, flowReadiness],
  Activity: [activity],
  'Open items': [openItems],
  'Payroll runs': [
    ...[payrollRunCreation, payrollRuns, payrollRunLines, payrollRunOverrides, payrollRunEmployees],
    ...[payrollRunWork, payrollRunAcceptances, approvals, payrollRunFindings, payrollsDue],
  ],
  'Payroll settings': [
    { getSecondApproval, putSecondApproval },
    payrollSettings,
    payDateProposal,
    settingFormats,
  ],
  Audit: [audit, evidence, employers],
  Notifications: [notifications],
  Sessions: [sessions],
};

/** The operations of each tag. */
export const OPERATIONS: readonly (readonly [Tag, readonly Operation[]])[] = Object.entries(NOUNS).map(
  ([tag, files]) => [tag as Tag, files.flatMap(operationsIn)],
);
