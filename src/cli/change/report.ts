/** Reports the employment changes in a file. */
import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ResultOf } from '../../api/operation.ts';
import { reportChanges } from '../../api/operations/change-batch.ts';
import { describe, givenFieldPath, within } from '../../contract/check.ts';
import type { ParsedJson } from '../../contract/json.ts';
import { keyProblem } from '../../employment/accept.ts';
import { CHANGE_SCHEMAS, checkChange } from '../../employment/change.ts';
import type { Problem } from '../../errors.ts';
import { slices, unreadableFor } from '../../formats/bytes.ts';
import { columnsOf, csvRecords, type Header, readHeader } from '../../formats/csv.ts';
import { jsonPieces, ndjsonValues } from '../../formats/json-list.ts';
import { createProblems, ROWS_BYTES_MAX, type RowFormat, readableRows } from '../../formats/rows.ts';
import { findRowsFile, type RowsFile } from '../arguments.ts';
import type { Context } from '../command.ts';
import { failed, wrongUsage } from '../failure.ts';
import type { OperationContext } from '../operation-run.ts';
import { counted, printable, printResult, withProgress } from '../output.ts';

export type ChangeKind = keyof typeof CHANGE_SCHEMAS;

type ReportOptions = { readonly file: string; readonly keyPrefix?: string };

/**
 * Reports the changes in a file, all of one kind. A wrong row rejects the file before anything is accepted. Each
 * idempotency key is made from the content of the file and the row's place in it, so the same file again changes
 * nothing, and continues after an interruption. Only a keyed hash of the key is stored.
 */
export async function reportFile(
  context: OperationContext,
  kind: ChangeKind,
  { file: path, keyPrefix }: ReportOptions,
): Promise<void> {
  const keyWith = (prefix: string, row: number): string => `${prefix}-${kind}-${row}`;
  if (keyPrefix !== undefined) assertKey(keyWith(keyPrefix, ROWS_BYTES_MAX));
  const { out } = context;
  const file = await findRowsFile(path);
  const { rows, digest } = await checkFile(context, file, kind);
  const keyOf = (row: number) => keyWith(keyPrefix ?? `file-${digest}`, row);
  const results = await withProgress(out, 'changes', rows, ({ set }) =>
    report(context, { file, kind, keyOf }, set),
  );
  summarize(context, results, rows);
  const problems = results.flatMap(({ path, errors = [] }) => errors.map((problem) => within(path, problem)));
  if (problems.length > 0) {
    const isKeyed = results.some(({ status }) => status === 'conflict');
    throw failed(`some rows were rejected${isKeyed ? ': set another --key-prefix' : ''}`, { problems });
  }
  if (results.length < rows) {
    throw failed(
      `stopped after ${results.length} of ${rows} changes: run the command again with the same file to continue`,
    );
  }
  const accepted = results.filter(({ status }) => status === 'accepted');
  if (accepted.some(({ state }) => state === 'pending'))
    out.note('The sidecar sends them now, or when it starts.');
  if (accepted.some(({ state }) => state === 'canceled'))
    out.note('Sending is off: they are in the roster, and are never sent.');
}

/** Throws WRONG_USAGE for a prefix with which the operation would refuse keys. */
function assertKey(key: string): void {
  const problem = keyProblem('--key-prefix', key);
  if (problem !== null) throw wrongUsage('options are missing or wrong', [problem]);
}

/** The name of the rows in a JSON object and in the paths of problems. */
const CHANGES = { list: 'changes' };

/** Changes and bytes of one batch, below its limits. Many commands fit into the time until a command is stopped. */
const BATCH = { changes: 500, bytes: 4 * 1024 * 1024 };

/** Reads the whole file. Throws ROWS_REFUSED, which names each wrong row and field. */
async function checkFile({ out }: Context, file: RowsFile, kind: ChangeKind) {
  const hash = createHash('sha256');
  const problems = createProblems();
  let rows = 0;
  await withProgress(out, 'bytes checked', file.size, async ({ add }) => {
    const content = file.read((part) => {
      hash.update(part);
      add(part.length);
    });
    const changes = changeRows(content, file.format, kind);
    for await (const some of readableRows<ReadChange>(changes, CHANGES, problems, BATCH.changes)) {
      rows += some.length;
      for (const { path, value } of some) {
        const checked = checkChange(kind, value);
        if (!checked.ok) problems.add(...checked.problems.map((problem) => within(path, problem)));
      }
    }
  });
  problems.assertNone();
  return { rows, digest: hash.digest('hex') };
}

type ReportedChange = ResultOf<typeof reportChanges>['results'][number] & { readonly path: string };

type Reporting = { file: RowsFile; kind: ChangeKind; keyOf: (row: number) => string };

/** Reports rows in batches until the end, until the command is stopped, or until the database fails. */
async function report(
  { perform, stopped }: OperationContext,
  { file, kind, keyOf }: Reporting,
  done: (changes: number) => void,
): Promise<ReportedChange[]> {
  const signal = stopped();
  const results: ReportedChange[] = [];
  let paths: string[] = [];
  let lines: string[] = [];
  let bytes = 0;
  /** Returns whether to continue. */
  const flush = async (): Promise<boolean> => {
    if (signal.aborted) return false;
    const content = Buffer.from(`[${lines.join()}]`);
    const batch = { format: 'json', content: Readable.from([content]) };
    const reported = await perform(reportChanges, { body: batch }).catch((error: unknown) => {
      if (signal.aborted) return null;
      throw error;
    });
    const accepted = (reported?.results ?? []).filter(({ status }) => status !== 'unavailable');
    results.push(...accepted.map((result, index) => ({ path: String(paths[index]), ...result })));
    done(results.length);
    const isWhole = accepted.length === lines.length;
    [paths, lines, bytes] = [[], [], 0];
    return isWhole;
  };
  for await (const row of changeRows(file.read(), file.format, kind)) {
    if ('problem' in row) throw failed('the file changed while it was read: run the command again');
    const key = keyOf(results.length + lines.length);
    const line = JSON.stringify({ ...(row.value as object), kind, idempotency_key: key });
    paths.push(row.path);
    lines.push(line);
    bytes += line.length;
    const isFull = lines.length === BATCH.changes || bytes > BATCH.bytes;
    if (isFull && !(await flush())) return results;
  }
  if (lines.length > 0) await flush();
  return results;
}

function summarize({ out }: Context, reported: readonly ReportedChange[], rows: number): void {
  const count = (wanted: ReportedChange['status']): number =>
    reported.filter(({ status }) => status === wanted).length;
  const [accepted, repeated, conflicts] = [count('accepted'), count('repeated'), count('conflict')];
  const results = reported.map(({ path, status: outcome, change_id = null, near_employee_id }) => ({
    ...{ path, outcome, change_id },
    ...(near_employee_id !== undefined && { near_employee_id }),
  }));
  printResult(out, { changes: rows, accepted, repeated, conflicts, results }, () => {
    out.print(`${counted(rows, 'change')}: ${accepted} accepted, ${repeated} already reported`);
    for (const { path, warnings = [] } of reported)
      for (const warning of warnings) out.note(printable(describe(within(path, warning))));
    if (repeated === rows) {
      out.note('This file was reported before. To report its changes again, set another --key-prefix.');
    }
  });
}

type ReadChange = { path: string; value: unknown; line?: number };
type GivenChange = ReadChange | { problem: Problem; line?: number };

const pathOf = (row: number): string => `${CHANGES.list}[${row}]`;

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
  for await (const { cells, line, broken, idProblems } of csvRecords(bytes, here, columnsOf(rowKind))) {
    if (header === null) {
      header = readHeader(cells, rowKind);
      if (header.problems.length > 0) throw unreadableFor(header.problems);
      continue;
    }
    const path = pathOf(rows);
    rows += 1;
    const problem = broken ?? header.emptinessOf(cells) ?? idProblems[0];
    if (problem !== undefined) yield { problem: within(path, problem), line };
    else yield { path, value: header.rowOf(cells), line };
  }
}

async function* jsonChanges(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<GivenChange> {
  // A single change is an object too: its fields then arrive as fields next to a list that is missing.
  const fields: [string, unknown][] = [];
  let rows = 0;
  for await (const pieces of jsonPieces(bytes, { ...CHANGES, orBare: true, pathOf })) {
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
