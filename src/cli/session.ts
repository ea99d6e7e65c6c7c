/** The commands of console sessions. */
import { databaseNow } from '../database/engine.ts';
import { transact } from '../database/transaction.ts';
import { allSessions, type Ending, endSessions } from '../security/sessions.ts';
import { actingIn, type Command, confirm } from './command.ts';
import { failed, wrongUsage } from './failure.ts';
import { type Column, counted, printList, printResult } from './output.ts';
import { personId } from './token.ts';

export function addSessionCommands(program: Command): void {
  const session = program.subcommand('session', 'List and end sessions at the console.');
  session
    .subcommand('list', 'List the sessions that have not ended.')
    .records('none')
    .examples('session list', 'session list --wide')
    .table()
    .doesOnDatabase(async ({ db, out, now }) => {
      const rows = await allSessions(db, await databaseNow(db, now));
      const none = 'No user is signed in at the console.';
      printResult(out, { data: rows }, () => printList(out, { columns: COLUMNS, rows, none }));
    });
  session
    .subcommand('end', 'End one session, all of a person, or all. The next request is refused.')
    .records('session.end')
    .examples(
      'session end 4c1f0a7be2d95388',
      'session end --person "https://login.example.com 248289761001"',
      'session end --all --yes',
    )
    .argument('[id]', 'The ID of one session')
    .option('--person <id>', 'End the sessions of this person, as "session list" prints it', personId)
    .option('--all', 'End all sessions')
    .confirmed()
    .json()
    .doesOnDatabase(async (context, id: string | undefined, { person, all = false }: EndOptions) => {
      const { db, out, now } = context;
      if ([id !== undefined, person !== undefined, all].filter(Boolean).length !== 1) {
        throw wrongUsage('give one of: the ID of a session, --person, --all');
      }
      if (all) await confirm(context, ['Everyone must sign in again.'], 'End all sessions?');
      const ending: Ending = { ...(id !== undefined && { id }), ...(person !== undefined && { person }) };
      const ended = await transact(db, async (trx) =>
        endSessions(trx, ending, actingIn(context, await databaseNow(trx, now))),
      );
      if (ended === 0 && !all) {
        throw failed('no session has this ID or person: find it with "benefits-sidecar session list"');
      }
      printResult(out, { ended }, `Ended ${counted(ended, 'session')}`);
    });
}

type EndOptions = { person?: string; all?: boolean };

const COLUMNS: readonly Column<Awaited<ReturnType<typeof allSessions>>[number]>[] = [
  ['id', (row) => row.id],
  ['name', (row) => row.name, 'cut'],
  ['person', (row) => row.person, 'cut'],
  ['signed in', (row) => row.created_at, 1],
  ['last used', (row) => row.last_used_at, 2],
];
