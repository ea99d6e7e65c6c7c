/** Reports the employment changes in a file. */
import { createHash } from 'node:crypto';
import { readDataKeys } from '../../config.ts';
import { givenFieldPath, within } from '../../contract/check.ts';
import type { ParsedJson } from '../../contract/json.ts';
import { sharedClock } from '../../database/engine.ts';
import {
  type Accepted,
  type Accepting,
  acceptChanges,
  CHANGES_AT_ONCE,
  keyProblem,
  type Submission,
} from '../../employment/accept.ts';
import { CHANGE_SCHEMAS, checkChange } from '../../employment/change.ts';
import { isAppError, type Problem } from '../../errors.ts';
import { slices, unreadableFor } from '../../formats/bytes.ts';
import { columnsOf, csvRecords, type Header, readHeader } from '../../formats/csv.ts';
import { jsonPieces, ndjsonValues } from '../../formats/json-list.ts';
import { createProblems, ROWS_BYTES_MAX, type RowFormat } from '../../formats/rows.ts';
import { censusHas } from '../../ledger/near-ids.ts';
import type { ChangeKind } from '../../outbox/manual.ts';
import type { Actor } from '../../security/audit.ts';
import { createEncryptor } from '../../security/encryption.ts';
import { findRowsFile, type RowsFile } from '../arguments.ts';
import { type Context, withDatabase } from '../command.ts';
import { failed, inputRefused, wrongUsage } from '../failure.ts';
import { counted, printResult, withProgress } from '../output.ts';

type ReportedChange = {
  path: string;
  outcome: Accepted['outcome'];
  change_id: string | null;
  near_employee_id?: string;
};

/**
 * Reports the changes in a file, all of one kind. A wrong row rejects the file before anything is accepted. Each
 * idempotency key is made from the content of the file and the row's place in it, so the same file again changes
 * nothing, and continues after an interruption. Only a keyed hash of the key is stored.
 */
export function changeReport(kind: ChangeKind) {
  return async (context: Context, path: string, { keyPrefix }: { keyPrefix?: string }): Promise<void> => {
    const { out, env, now } = context;
    const encryptor = createEncryptor(readDataKeys(env));
    const file = await findRowsFile(path);
    await withDatabase(context, async (db) => {
      const { rows, digest } = await checkFile(context, file, kind);
      const keyOf = (row: number): string => `${keyPrefix ?? `file-${digest}`}-${kind}-${row}`;
      const results = await withProgress(out, 'changes', rows, ({ set }) =>
        accept(
          { db, encryptor, sharedNow: sharedClock(now) },
          { file, kind, keyOf, actor: context.actor },
          set,
          context.stopped(),
        ),
      );
      summarize(context, results, rows);
      const conflicts = results.filter(({ outcome }) => outcome === 'conflict');
      if (conflicts.length > 0) {
        throw failed(
          'some rows were rejected, because other changes used their keys before: set another --key-prefix',
          { problems: conflicts.map(({ path }) => ({ path, rule: 'another change used its key before' })) },
        );
      }
      if (results.length < rows) {
        throw failed(
          `stopped after ${results.length} of ${rows} changes: run the command again with the same file to continue`,
        );
      }
      if (results.some(({ outcome }) => outcome === 'accepted')) {
        out.note('The sidecar sends them now, or when it starts.');
      }
    });
  };
}

/** Leaves space for the kind and the row in a key. */
const PREFIX_MAX_CHARACTERS = 200;

export function keyPrefix(text: string): string {
  if (keyProblem('', text) === null && text.length <= PREFIX_MAX_CHARACTERS) return text;
  throw wrongUsage(
    `--key-prefix must be 1 to ${PREFIX_MAX_CHARACTERS} visible ASCII characters, without spaces`,
  );
}

/** Reads the whole file. Throws COMMAND_FAILED, which names each wrong row and field. */
async function checkFile({ out }: Context, file: RowsFile, kind: ChangeKind) {
  const hash = createHash('sha256');
  const problems = createProblems();
  let rows = 0;
  await withProgress(out, 'bytes checked', file.size, async ({ add }) => {
    const content = file.read((part) => {
      hash.update(part);
      add(part.length);
    });
    for await (const checked of checkedChanges(content, file.format, kind)) {
      if ('problems' in checked) {
        problems.noteLine(rows, checked.line);
        problems.add(...checked.problems);
      }
      rows += 1;
    }
    if (rows === 0) problems.add({ path: '', rule: 'has no change' });
  }).catch((error: unknown) => {
    if (!isAppError(error, 'UNREADABLE')) throw error;
    problems.add(...error.problems);
  });
  if (!problems.isEmpty) throw inputRefused('the file', problems.refused());
  return { rows, digest: hash.digest('hex') };
}

type Pending = Submission & { path: string };

type Reporting = { file: RowsFile; kind: ChangeKind; keyOf: (row: number) => string; actor: Actor };

/** Accepts some hundred rows in each transaction until the end, or until the command is stopped. */
async function accept(
  accepting: Accepting,
  { file, kind, keyOf, actor }: Reporting,
  done: (changes: number) => void,
  signal: AbortSignal,
): Promise<ReportedChange[]> {
  const results: ReportedChange[] = [];
  let some: Pending[] = [];
  const flush = async (): Promise<void> => {
    for (const [index, accepted] of (await acceptChanges(accepting, some)).entries()) {
      const change_id = 'changeId' in accepted ? accepted.changeId : null;
      const near =
        'near' in accepted && accepted.near !== undefined ? { near_employee_id: accepted.near } : {};
      results.push({ path: (some[index] as Pending).path, outcome: accepted.outcome, change_id, ...near });
    }
    some = [];
    done(results.length);
  };
  for await (const checked of checkedChanges(file.read(), file.format, kind)) {
    if (signal.aborted) return results;
    if ('problems' in checked) throw failed('the file changed while it was read: run the command again');
    some.push({ ...checked, idempotencyKey: keyOf(results.length + some.length), actor });
    if (some.length === CHANGES_AT_ONCE) await flush();
  }
  if (some.length > 0) await flush();
  return results;
}

function summarize({ out }: Context, results: readonly ReportedChange[], rows: number): void {
  const count = (outcome: ReportedChange['outcome']): number =>
    results.filter((result) => result.outcome === outcome).length;
  const [accepted, repeated, conflicts] = [count('accepted'), count('repeated'), count('conflict')];
  printResult(out, { changes: rows, accepted, repeated, conflicts, results }, () => {
    out.print(`${counted(rows, 'change')}: ${accepted} accepted, ${repeated} already reported`);
    for (const { path, near_employee_id: near } of results) {
      if (near !== undefined) out.note(`${path}.employee_id: is in no census and no hire${censusHas(near)}`);
    }
    if (repeated === rows) {
      out.note('This file was reported before. To report its changes again, set another --key-prefix.');
    }
  });
}

/** Yields each row with its path for problems: `changes[0]`, or '' for the only one of a file. */
async function* checkedChanges(content: AsyncIterable<Uint8Array>, format: RowFormat, kind: ChangeKind) {
  for await (const row of changeRows(content, format, kind)) {
    if ('problem' in row) yield { problems: [row.problem], line: row.line };
    else {
      const { path, value, line } = row;
      const checked = checkChange(kind, value);
      if (checked.ok) yield { path, change: checked.change };
      else yield { problems: checked.problems.map((problem) => within(path, problem)), line };
    }
  }
}

type GivenChange = { path: string; value: unknown; line?: number } | { problem: Problem; line?: number };

const pathOf = (row: number): string => `changes[${row}]`;

/** Reads the rows one by one in flat memory. Throws UNREADABLE, and what the content throws. */
function changeRows(
  content: AsyncIterable<Uint8Array>,
  format: RowFormat,
  kind: ChangeKind,
): AsyncGenerator<GivenChange> {
  const bytes = slices(content, ROWS_BYTES_MAX);
  if (format === 'csv') return csvChanges(bytes, kind);
  return format === 'json' ? jsonChanges(bytes) : ndjsonChanges(bytes);
}

/** The columns are field paths of the contract, as in a census: `address.line1`, `pay_rate[0].amount`. */
async function* csvChanges(bytes: AsyncIterable<Uint8Array>, kind: ChangeKind): AsyncGenerator<GivenChange> {
  const rowKind = { schema: CHANGE_SCHEMAS[kind], more: [], what: `a ${kind}` };
  let header: Header | null = null;
  let rows = 0;
  const here = (): string => (header === null ? '' : pathOf(rows));
  for await (const { cells, line, broken, spacedIds } of csvRecords(bytes, here, columnsOf(rowKind).names)) {
    if (header === null) {
      header = readHeader(cells, rowKind);
      if (header.problems.length > 0) throw unreadableFor(header.problems);
      continue;
    }
    const path = pathOf(rows);
    rows += 1;
    const problem = broken ?? header.emptinessOf(cells) ?? spacedIds[0];
    if (problem !== undefined) yield { problem: within(path, problem), line };
    else yield { path, value: header.rowOf(cells), line };
  }
}

async function* jsonChanges(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<GivenChange> {
  // A single change is an object too: its fields then arrive as fields next to a list that is missing.
  const fields: [string, unknown][] = [];
  let rows = 0;
  for await (const pieces of jsonPieces(bytes, { list: 'changes', orBare: true, pathOf })) {
    for (const piece of pieces) {
      if (piece.kind === 'field') fields.push([piece.name, piece.value]);
      else if (piece.kind === 'problem') yield piece;
      else {
        yield givenOf(piece.parsed, pathOf(rows));
        rows += 1;
      }
    }
  }
  if (fields.length === 0) return;
  if (rows === 0) yield { path: '', value: Object.fromEntries(fields) };
  else {
    for (const [name] of fields) {
      yield { problem: { path: givenFieldPath('', name), rule: 'is not a field of a list of changes' } };
    }
  }
}

async function* ndjsonChanges(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<GivenChange> {
  let rows = 0;
  for await (const parsed of ndjsonValues(bytes, () => pathOf(rows))) {
    yield givenOf(parsed, pathOf(rows));
    rows += 1;
  }
}

function givenOf(parsed: ParsedJson, path: string): GivenChange {
  return parsed.ok ? { path, value: parsed.value } : { problem: { path, rule: parsed.reason } };
}
