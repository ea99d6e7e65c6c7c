/** Golden files: texts that a review saw. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

const GOLDEN = new URL('./golden/', import.meta.url);
const RECORDS = process.env.RECORD === '1';
/** The maximum number of differing lines that a failing test shows. */
const DIFFERENCE_LINES = 120;

/** Compares a text with a golden file, or overwrites the file. */
export function compareWithGolden(t: Test, name: string, text: string): void {
  const file = new URL(`${name}.txt`, GOLDEN);
  if (RECORDS) writeFileSync(file, text);
  if (readFileSync(file, 'utf8') === text) return void t.pass(name);
  const actual = join(mkdtempSync(join(tmpdir(), 'benefits-sidecar-recorded-')), `${name}.txt`);
  writeFileSync(actual, text);
  t.fail(`the recording ${name} differs from test/recordings/golden/${name}.txt`, { diagnostic: false });
  t.comment(differenceOf(fileURLToPath(file), actual));
  t.comment('If the change is intended: run this test file by RECORD=1 npx tap run, and review git diff');
}

function differenceOf(expected: string, actual: string): string {
  const options = ['-U4', '--label', 'golden', '--label', 'recorded'];
  const { stdout } = spawnSync('diff', [...options, expected, actual], { encoding: 'utf8' });
  const lines = stdout.split('\n');
  const more = lines.length - DIFFERENCE_LINES;
  const left = more > 0 ? [`… ${more} more lines: ${actual}`] : [];
  return [...lines.slice(0, DIFFERENCE_LINES), ...left].join('\n');
}
