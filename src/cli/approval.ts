/** The commands of second approval. Nothing here approves: that takes a person. */
import type { ResultOf } from '../api/operation.ts';
import {
  ENDS_IN_WORDS,
  getSecondApproval,
  listPayrollRunApprovals,
  putSecondApproval,
} from '../api/operations/payroll-run-approvals.ts';
import type { Command } from './command.ts';
import { addOperation } from './operation-command.ts';
import type { Column, Output } from './output.ts';

export function addApprovalCommands(program: Command): void {
  const approval = program.subcommand('approval', 'Require that another person approves payroll runs.');
  addOperation(approval, 'require', putSecondApproval, {
    description: "Require a second approval for an employer's runs.",
    examples: ['--employer maple-bakery --reason "audit of 2026"'],
    without: ['required'],
    help: { reason: 'Why; kept in the audit record' },
    input: async (_context, { params, body }) => ({ params, body: { ...body, required: true } }),
    print: printSetting,
  });
  addOperation(approval, 'show', getSecondApproval, {
    description: "Show whether an employer's runs need a second approval.",
    examples: ['--employer maple-bakery'],
    print: printSetting,
  });
  addOperation(approval, 'list', listPayrollRunApprovals, {
    description: 'List the approvals of a payroll run, newest first.',
    examples: ['mb-2026-07'],
    arguments: ['run_id'],
    rows: ({ approvals }) => approvals,
    columns: COLUMNS,
    none: 'No approvals.',
  });
}

type Setting = ResultOf<typeof getSecondApproval>;
type Approval = ResultOf<typeof listPayrollRunApprovals>['approvals'][number];

function printSetting(out: Output, { required, switching_off: request }: Setting): void {
  out.print(required ? 'A second approval is required' : 'No second approval is required');
  if (request === null) return;
  out.print(`${request.requested_by.name} asked to stop requiring it. Another person must confirm it.`);
}

/** Returns since when, or why, an approval does not count. */
function endOf({ ended_at, no_longer_counts: end }: Approval): string | null {
  return ended_at ?? (end && ENDS_IN_WORDS[end]);
}

const COLUMNS: readonly Column<Approval>[] = [
  ['id', (approval) => approval.id],
  ['action', (approval) => approval.action],
  ['by', (approval) => approval.approved_by.name],
  ['time', (approval) => approval.approved_at, 1],
  ['no longer counts', endOf, 1],
  ['accepted checks', (approval) => approval.accepted_checks.join(' '), 'cut'],
  ['reason', (approval) => approval.reason, 'cut'],
];
