/** The words for the actions in audit records. */
import type { Action } from '../../security/audit.ts';

export const ACTION_NAMES: Readonly<Record<Action, string>> = {
  'approval-setting.put': 'Second approval set',
  'census.read': 'Census read',
  'census.stage': 'Census staged',
  'census-sync.request': 'Census sync requested',
  'census-sync.dismiss': 'Census sync dismissed',
  'census-sync.read': 'Response to a census read',
  'change.report': 'Employment change reported',
  'change.retry': 'Employment change retried',
  'change.cancel': 'Employment change canceled',
  'change.release': 'Employment change released',
  'change.read': 'Employment change read',
  'codes.put': 'Payroll codes set',
  'database.back-up': 'Database backed up',
  'database.copy': 'Database copied',
  'database.migrate': 'Database migrated',
  'database.restore': 'Database restored',
  'deduction.assign': 'Deduction assigned to an employer',
  'deduction.decide-start': 'Start of a deduction decided',
  'deduction.import': 'Deductions imported',
  'event.reprocess': 'Event reprocessed',
  'event.dismiss': 'Event dismissed',
  'item.decide': 'Open items decided',
  'item.open': 'Opening items added',
  'key.rotate': 'Encryption key rotated',
  'loss.accept': 'Data loss accepted',
  'policy.put': 'Payroll policy set',
  'reason.erase': 'Reason erased',
  'retention.apply': 'Old data deleted',
  'run.approve': 'Run approved',
  'run.create': 'Run created',
  'run.delete': 'Run deleted',
  'run.download': 'File of a run downloaded',
  'run.finalize': 'Run finalized',
  'run.read': 'Evidence of a run read',
  'run.override': 'Amount overridden',
  'run.remove-override': 'Override removed',
  'run.taken': 'Deductions taken reported',
  'run.void': 'Run voided',
  'schedule.delete': 'Pay schedule deleted',
  'schedule.put': 'Pay schedule set',
  'session.begin': 'Signed in',
  'session.end': 'Signed out',
  'token.create': 'Token created',
  'token.revoke': 'Token revoked',
};

/** Returns the words for an action of a record, or the action that a newer version recorded. */
export function actionName(action: string): string {
  return (ACTION_NAMES as Readonly<Record<string, string>>)[action] ?? action;
}
