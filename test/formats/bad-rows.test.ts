/** A small file of bad rows must not keep the thread from other requests: a bad row costs more than a good one. */
import { checkCensus } from '../../src/census/check.ts';
import { PROBLEMS_MAX } from '../../src/contract/check.ts';
import type { Db } from '../../src/database/tables.ts';
import { acceptBatch, BATCH_CHANGES_MAX } from '../../src/employment/batch.ts';
import { createProblems, type RowFormat, readableRows, readRows } from '../../src/formats/rows.ts';
import { IMPORT_COLUMNS, importDeductions } from '../../src/inbox/import.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { silentLog } from '../../src/telemetry/log.ts';
import { scratch } from '../database/scratch.ts';
import { encryptor, START } from '../outbox/parts.ts';
import { acting } from '../support/audit.ts';
import { longestTurn } from '../support/cpu-time.ts';
import { onEitherEngine } from '../support/engine.ts';
import { COLUMNS, parts, refusalOf } from './read.ts';

const test = onEitherEngine.with(scratch);

const ROWS = 20_000;
/** Many times what a turn takes on an idle machine, and half of what the census of this test took in one. */
const TURN_MS = 250;

const rowsOf = (row: string, rows = ROWS): string => Array<string>(rows).fill(row).join();
const censusOf = (rows: number): string => `{"employees":[${rowsOf('{}', rows)}]}`;

type Counted = { rows?: number; listed: number; count: number };

async function checked(text: string): Promise<Counted> {
  const { problems, problemCount } = await checkCensus({ format: 'json', content: parts(text) });
  return { listed: problems.length, count: problemCount };
}

async function imported(db: Db, text: string): Promise<Counted> {
  const open = () => readRows(parts(text), 'json', IMPORT_COLUMNS);
  return countsOf(() => importDeductions(db, open, acting(START)));
}

async function countsOf(call: () => Promise<unknown>): Promise<Counted> {
  const refusal = await refusalOf(call);
  return { listed: refusal?.problems.length ?? 0, count: refusal?.problemCount ?? 0 };
}

/** Reads rows as the files of amounts taken, of an audit and of opening items are read. */
async function read(text: string, format: RowFormat): Promise<Counted> {
  const problems = createProblems();
  for await (const some of readableRows(readRows(parts(text), format, COLUMNS), COLUMNS, problems, 250))
    for (const { path } of some) problems.add({ path, rule: 'is required' });
  return countsOf(async () => problems.assertNone());
}

test('every problem of a small file with many bad rows is counted, in short turns', async (t, { db }) => {
  // The first check compiles what the next ones use.
  const ofTwo = await checked(censusOf(2));
  const problemsOfRow = ofTwo.count - (await checked(censusOf(1))).count;
  const ofImport = (await imported(db, '[{}]')).count;
  const cases: [name: string, work: () => Promise<Counted>, count: number][] = [
    ['census', () => checked(censusOf(ROWS)), ofTwo.count + (ROWS - 2) * problemsOfRow],
    ['import', () => imported(db, `[${rowsOf('{}')}]`), ROWS * ofImport],
    ['JSON', () => read(`[${rowsOf('{}')}]`, 'json'), ROWS],
    ['CSV', () => read(`employee_id,amount\n${'1\n'.repeat(ROWS)}`, 'csv'), ROWS],
    ['NDJSON', () => read('1\n'.repeat(ROWS), 'ndjson'), ROWS],
  ];
  for (const [name, work, count] of cases) {
    const { result, cpuMs } = await longestTurn(work);
    t.match(result, { listed: PROBLEMS_MAX, count }, name);
    t.ok(cpuMs < TURN_MS, `${name}: the longest turn takes ${cpuMs} ms`);
  }
});

test('a batch of bad changes is refused in short turns, with a small response', async (t, { db }) => {
  const batch = { db, encryptor, sharedNow: async () => START, log: silentLog, wakeSend: () => {} };
  const line = { ok: true, value: { kind: 'new-hire' } } as const;
  await acceptBatch(batch, [line], SYSTEM);
  const lines = Array<typeof line>(BATCH_CHANGES_MAX).fill(line);
  const { result, cpuMs } = await longestTurn(() => acceptBatch(batch, lines, SYSTEM));
  t.ok(result.every((entry) => entry.status === 'refused' && entry.problems.length > 0));
  t.ok(JSON.stringify(result).length < 4 * 1024 * 1024);
  t.ok(cpuMs < TURN_MS, `the longest turn takes ${cpuMs} ms`);
});
