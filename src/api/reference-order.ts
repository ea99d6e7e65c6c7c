/** The order of the reference: its tags, and the operations of each. Routes are declared in any order. */
export const TAGS: readonly { name: string; description: string; operations: readonly string[] }[] = [
  {
    name: 'Deductions',
    description: 'The ledger of payroll deductions.',
    operations: [
      'listDeductions',
      'getDeduction',
      'listVersionsOfDeduction',
      'getTimelineOfDeduction',
      'getEmployerOfDeduction',
      'assignDeduction',
      'listDeductionVersions',
    ],
  },
  {
    name: 'Census',
    description: 'Employee censuses and their uploads.',
    operations: [
      'getCensus',
      'putCensus',
      'validateCensus',
      'listCensuses',
      'listCensusSyncs',
      'getCensusSync',
      'dismissCensusSync',
      'releaseCensusSync',
      'syncCensus',
    ],
  },
  {
    name: 'Employment',
    description: 'Hires, terminations, moves and pay changes; employees and their rosters.',
    operations: [
      'reportNewHire',
      'reportTermination',
      'reportMove',
      'reportCompensationChange',
      'reportChanges',
      'listEmployeeChanges',
      'getEmployeeChange',
      'retryEmployeeChange',
      'cancelEmployeeChange',
      'releaseEmployeeChange',
      'getEmployee',
      'listPaychecksOfEmployee',
    ],
  },
  {
    name: 'Events',
    description: 'Webhook events and their states.',
    operations: [
      'listEvents',
      'getEvent',
      'listEventConflicts',
      'reprocessEvent',
      'dismissEvent',
      'reprocessEvents',
    ],
  },
  {
    name: 'Readiness',
    description: 'Whether payroll can trust the ledger now.',
    operations: ['getReadiness'],
  },
  {
    name: 'Activity',
    description: 'Current load: events received, pending work and requests sent.',
    operations: ['getActivity', 'getMetrics'],
  },
  {
    name: 'Payroll runs',
    description: 'Deductions for one pay date, to the cent, with explanations and verification.',
    operations: [
      'listPayrollsDue',
      'openPayrollRun',
      'computePayrollRun',
      'putPayrollRun',
      'getPayrollRun',
      'deletePayrollRun',
      'previewPayrollRun',
      'listPayrollRuns',
      'getPayrollRunOutline',
      'listPayrollRunEmployees',
      'listPayrollRunLines',
      'listPayrollRunOverrides',
      'overridePayrollRunLine',
      'removePayrollRunOverride',
      'getPayrollRunReadiness',
      'listPayrollRunFindings',
      'approvePayrollRun',
      'withdrawPayrollRunApproval',
      'listPayrollRunApprovals',
      'getPayrollRunFreshness',
      'finalizePayrollRun',
      'voidPayrollRun',
      'recordTaken',
      'listTakenLines',
      'auditPayrollRun',
      'verifyPayrollRun',
    ],
  },
  {
    name: 'Open items',
    description: 'What payroll still owes or is owed, and decisions about it.',
    operations: [
      'listOpenItems',
      'getOpenItemTotals',
      'listOpenItemsOfEmployee',
      'listItemDecisions',
      'decideOpenItems',
      'previewItemDecisions',
      'createOpeningItems',
    ],
  },
  {
    name: 'Payroll settings',
    description: 'Pay schedules, payroll codes and the payroll policy of an employer.',
    operations: [
      'listPaySchedules',
      'getPayScheduleOfYear',
      'putPayScheduleOfYear',
      'deletePayScheduleOfYear',
      'getPayrollCodes',
      'putPayrollCodes',
      'listLinesOfCoverage',
      'listPayFrequencies',
      'getPayrollPolicy',
      'putPayrollPolicy',
      'getSecondApproval',
      'putSecondApproval',
    ],
  },
  {
    name: 'Audit',
    description: 'Who did what, when and why, in a chain that an auditor can verify.',
    operations: ['listAuditRecords', 'getAuditRecord', 'getAuditHead', 'getEvidenceOfPayrollRun'],
  },
  {
    name: 'Sessions',
    description: "The caller's own console sessions.",
    operations: ['listSessions', 'endOtherSessions', 'endSession'],
  },
  {
    name: 'Health',
    description: 'Liveness, readiness of the process, and metrics.',
    operations: ['isAlive', 'canCommit'],
  },
  { name: 'Reference', description: 'This document.', operations: ['getReference'] },
];

const PLACES = new Map(TAGS.flatMap(({ operations }) => operations).map((id, place) => [id, place]));

type Operations = Readonly<Record<string, { operationId?: string }>>;

/** Returns the paths in the order of the reference. Throws for an operation without a place in it. */
export function inReferenceOrder<O extends Operations>(
  paths: Readonly<Record<string, O>>,
): Record<string, O> {
  const placeOf = ([method, { operationId = method }]: [string, { operationId?: string }]): number => {
    const place = PLACES.get(operationId);
    if (place === undefined)
      throw new Error(`${operationId} has no place in the reference: add it to its tag`);
    return place;
  };
  const sorted = Object.entries(paths).map(([path, operations]) => {
    const inOrder = Object.entries(operations).sort((left, right) => placeOf(left) - placeOf(right));
    const [first] = inOrder;
    return { path, operations: Object.fromEntries(inOrder) as O, place: first ? placeOf(first) : 0 };
  });
  sorted.sort((left, right) => left.place - right.place);
  return Object.fromEntries(sorted.map(({ path, operations }) => [path, operations]));
}
