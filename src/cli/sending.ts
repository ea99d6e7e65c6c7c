/** The command that ends a pilot. It needs the machine of the database, like the variable that started the pilot. */
import { readBenefits, readSending } from '../config.ts';
import { sharedClock } from '../database/engine.ts';
import type { Environment } from '../environment.ts';
import { type PilotChange, type PilotEnd, planEndOfPilot, turnSendingOn } from '../operations/pilot.ts';
import { type Command, confirm } from './command.ts';
import { type Column, counted, type Output, printable, printResult, printTable } from './output.ts';

export function addSendingCommands(program: Command): void {
  const sending = program.subcommand('sending', 'End the pilot of this database.');
  sending
    .subcommand('on', 'End the pilot: from now on, requests are sent to the benefits service.')
    .records('sending.on')
    .examples('sending on', 'sending on --yes')
    .confirmed()
    .table()
    .doesOnDatabase(async (context) => {
      const { db, env, out, now, actor } = context;
      const planned = await planEndOfPilot(db);
      const { changes, employers } = planned;
      if (!out.asJson) printPlan(out, planned);
      const effect =
        'The service must know these changes: the present receiver sent them, or the censuses have them.';
      await confirm(context, changes.length > 0 ? [effect] : [], 'Turn sending on? It cannot be undone.');
      await turnSendingOn(db, planned, { actor, sharedNow: sharedClock(now) });
      const result = { changes_not_sent: changes, censuses_requested: employers };
      const requested = counted(employers.length, 'census is', 'censuses are');
      printResult(out, result, `Sending is on: ${requested} requested, and nothing of the pilot is sent`);
      for (const step of stepsAfter(env)) out.note(step);
    });
}

function printPlan(out: Output, { changes, employers }: PilotEnd): void {
  if (changes.length > 0) printTable(out, COLUMNS, changes);
  out.print(`Changes of the pilot, which are never sent: ${changes.length}`);
  const named = employers.length === 0 ? 'none' : printable(employers.join(', '));
  out.print(`Censuses that are requested now: ${named}`);
}

const COLUMNS: readonly Column<PilotChange>[] = [
  ['reported', ({ created_at }) => created_at],
  ['kind', ({ kind }) => kind],
  ['employee', ({ employee_id }) => employee_id],
  ['change', ({ request_id }) => request_id, 1],
];

/** Returns what the configuration of this machine still lacks. */
function stepsAfter(env: Environment): string[] {
  return [
    ...(readSending(env) === 'off' ? ['Unset SENDING: the next start is refused with SENDING=off.'] : []),
    ...(readBenefits(env).apiKey === null
      ? ['Set BENEFITS_API_KEY and restart each sidecar: without it nothing is sent.']
      : []),
  ];
}
