/** The commands of second approval. Nothing here approves: that takes a person. */
import { transact } from '../database/transaction.ts';
import { approvalsOf, viewApproval } from '../payroll/records/approvals.ts';
import { findRun } from '../payroll/records/runs.ts';
import { setApproval, viewApprovalSetting } from '../payroll/settings/approval.ts';
import { actingIn, type Command, type DatabaseContext } from './command.ts';
import { unknownId } from './failure.ts';
import { type Column, printList, printResult } from './output.ts';

type Options = { employer: string; reason: string };
type Approval = ReturnType<typeof viewApproval>;

export function addApprovalCommands(program: Command): void {
  const approval = program.subcommand('approval', 'Require that another person approves payroll runs.');
  approval
    .subcommand('require', "Require a second approval for an employer's runs.")
    .records('approval-setting.put')
    .examples('approval require --employer maple-bakery --reason "audit of 2026"')
    .employer()
    .reason('Why; kept in the audit record')
    .json()
    .doesOnDatabase(async (context, { employer, reason }: Options) => {
      const setting = { required: true, reason, person: null };
      await transact(context.db, (trx) => setApproval(trx, employer, setting, actingIn(context)));
      await printSetting(context, employer);
    });
  approval
    .subcommand('show', "Show whether an employer's runs need a second approval.")
    .records('none')
    .examples('approval show --employer maple-bakery')
    .employer()
    .json()
    .doesOnDatabase(async (context, { employer }: Options) => {
      await printSetting(context, employer);
    });
  approval
    .subcommand('list', 'List the approvals of a payroll run, newest first.')
    .records('none')
    .examples('approval list mb-2026-07')
    .argument('<run-id>', 'The id of the run')
    .table()
    .doesOnDatabase(async ({ db, out, now }, runId: string) => {
      if ((await findRun(db, runId)) === null) throw unknownId('run', runId, 'run list');
      const approvals = (await approvalsOf(db, runId, now().toISOString())).map(viewApproval);
      const none = 'No approvals.';
      printResult(out, { approvals }, () => printList(out, { columns: COLUMNS, rows: approvals, none }));
    });
}

async function printSetting({ db, out, now }: DatabaseContext, employer: string): Promise<void> {
  const setting = await viewApprovalSetting(db, employer, now().toISOString(), null);
  printResult(out, setting, () => {
    out.print(setting.required ? 'A second approval is required' : 'No second approval is required');
    const request = setting.switching_off;
    if (request !== null) {
      out.print(`${request.requested_by.name} asked to stop requiring it. Another person must confirm it.`);
    }
  });
}

const COLUMNS: readonly Column<Approval>[] = [
  ['id', (approval) => approval.id],
  ['action', (approval) => approval.action],
  ['by', (approval) => approval.approved_by.name],
  ['time', (approval) => approval.approved_at, 1],
  ['ended', (approval) => approval.ended_at ?? '–', 1],
  ['accepted checks', (approval) => approval.accepted_checks.join(' '), 'cut'],
  ['reason', (approval) => approval.reason, 'cut'],
];
