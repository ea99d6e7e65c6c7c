/**
 * Measures reading a census of 100,000 rows through a file format: `node bench/census-format.ts`. For an Excel workbook, whose
 * process is measured too: `node bench/census-format.ts --make book.xlsx && node bench/census-format.ts book.xlsx`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { checkCensus } from '../src/census/check.ts';
import { CENSUS_FILE } from '../src/census/reading.ts';
import { proposeCensusFormat } from '../src/census/try-format.ts';
import { checkFormat } from '../src/formats/file-format.ts';
import { fileReader, storedFormat } from '../src/formats/repair.ts';
import { workbookOf } from '../test/formats/workbook-file.ts';

const ROWS = 100_000;
const ROWS_AT_ONCE = 500;
const TODAY = '2026-11-27';
const HEADER =
  'Emp #,First Name,Last Name,DOB,Street Address,City,State,ZIP,Hire Date,Email,Hours/Week,Annual Salary,Effective Date,Status,SSN,Phone,Pay Freq';

/** Ten cells of each row change. */
function rowOf(at: number): string {
  const day = `${(at % 12) + 1}/${(at % 28) + 1}`;
  return [
    ...[at, 'Ana', 'Ruiz', `${day}/${1950 + (at % 50)}`, `${at} Main St`, 'Boston', 'Massachusetts', '2108'],
    ...[
      `${day}/${2000 + (at % 25)}`,
      `ana${at}@example.org`,
      40,
      `$${40_000 + (at % 9_000)}.1250`,
      '1/1/26',
      'FT',
    ],
    ...[10_000_000 + at, `(617) 555-${String(at % 10_000).padStart(4, '0')}`, 'Bi-Weekly'],
  ].join();
}

async function* fileOf(rows: number): AsyncGenerator<Buffer> {
  yield Buffer.from(HEADER);
  for (let at = 0; at < rows; at += ROWS_AT_ONCE) {
    const count = Math.min(ROWS_AT_ONCE, rows - at);
    yield Buffer.from(Array.from({ length: count }, (_, index) => `\n${rowOf(at + index)}`).join(''));
  }
}

/** A workbook of the same rows. Numbers are numbers. */
function bookOf(rows: number): Buffer {
  const cellsOf = (line: string) =>
    line.split(',').map((text) => (/^[1-9]\d*$/.test(text) ? Number(text) : text));
  return workbookOf({
    sheets: [{ rows: [HEADER.split(','), ...Array.from({ length: rows }, (_, at) => cellsOf(rowOf(at)))] }],
  });
}

/** Of the process that reads the workbook: its most resident memory in MiB, and its CPU in seconds. Only Linux has them. */
let childPeak = 0;
let childCpu = 0;
function notePeak(): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('workbook/child')) continue;
      const [, peak = '0'] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      childPeak = Math.max(childPeak, Number(peak) / 1024);
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ');
      childCpu = (Number(fields[13]) + Number(fields[14])) / 100;
    } catch {
      // It ended.
    }
  }
}

const [, , first, target] = process.argv;
if (first === '--make' && target !== undefined) {
  writeFileSync(target, bookOf(ROWS));
  process.exit();
}
const book = first === undefined ? null : readFileSync(first);
async function* contentOf(): AsyncGenerator<Uint8Array> {
  if (book === null) yield* fileOf(ROWS);
  else yield book;
}

const { format } = await proposeCensusFormat(fileOf(100), null, TODAY);
const confirmed = checkFormat(format, CENSUS_FILE);
if (!confirmed.ok) throw new Error(JSON.stringify(confirmed.problems));
const find = storedFormat(confirmed.value, CENSUS_FILE);
const timer = setInterval(notePeak, 50);
const began = performance.now();
const before = process.cpuUsage();
const through = fileReader({ kind: CENSUS_FILE, find, today: TODAY });
const { employees } = await checkCensus({ format: 'csv', content: contentOf(), through });
const { user, system } = process.cpuUsage(before);
clearInterval(timer);
const seconds = (performance.now() - began) / 1_000;
const peak = process.resourceUsage().maxRSS / 1024;
const changed = through.repairs.changes.reduce((sum, { cells }) => sum + cells, 0);
console.log(
  `${employees} rows, ${changed} values changed: ${((user + system) / 1e6).toFixed(1)} s CPU, at most ${Math.round(peak)} MiB`,
);
if (book !== null)
  console.log(
    `a workbook of ${(book.length / 1024 / 1024).toFixed(1)} MiB in ${seconds.toFixed(1)} s; its process: ${childCpu.toFixed(1)} s CPU, at most ${Math.round(childPeak)} MiB`,
  );
