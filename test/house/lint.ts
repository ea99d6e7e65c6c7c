/** Biome with the project's own rules, run on files that are not the project's. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

export type Finding = {
  readonly severity: string;
  readonly category: string;
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly message: string;
};

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
/** A report of all rooms importing each other has some hundred entries. */
const REPORT_BYTES = 16 * 1024 * 1024;

/** What Biome finds in `src` of the folder; all of it, with no limit to the number. */
export async function lint(folder = PROJECT): Promise<Finding[]> {
  const biome = join(PROJECT, 'node_modules/@biomejs/biome/bin/biome');
  const options = ['lint', '--reporter=json', '--max-diagnostics=none', 'src'];
  const report = await new Promise<string>((resolve, reject) => {
    const settings = { cwd: folder, maxBuffer: REPORT_BYTES };
    execFile(process.execPath, [biome, ...options], settings, (_failed, output, complaint) => {
      // It also fails when it finds something; only a run that reported nothing at all went wrong.
      if (output.startsWith('{')) resolve(output);
      else reject(new Error(`biome did not run: ${complaint}`));
    });
  });
  const { diagnostics } = JSON.parse(report) as { diagnostics: Diagnostic[] };
  return diagnostics.map(({ severity, category, message, location }) => ({
    severity,
    category,
    path: location.path,
    line: location.start.line,
    message,
  }));
}

type Diagnostic = {
  severity: string;
  category: string;
  message: string;
  location: { path: string; start: { line: number } };
};

/** A folder with the project's rules and these files, path -> text. */
export function scratchHouse(t: Test, files: Readonly<Record<string, string>>): string {
  const folder = t.testdir();
  for (const path of ['biome.json', 'test/house', '.gitignore']) {
    cpSync(join(PROJECT, path), join(folder, path), { recursive: true });
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}
