/** Notices that the files of a SQLite database were replaced or removed under the process that serves it. */
import { statSync } from 'node:fs';
import { AppError } from '../errors.ts';
import { engineOfUrl } from './engine.ts';
import { SUFFIX } from './files.ts';
import { sqliteFile } from './open.ts';

/** Events acknowledged since the last check may be lost. The provider can still replay them. */
const EVERY_MS = 1_000;
/** The database and the files that SQLite keeps next to it while it is open. */
const ENDS = ['', SUFFIX.log, SUFFIX.memory] as const;

/** Calls `replaced` once if the files of an open SQLite database change. Returns a function to stop. */
export function watchFiles(databaseUrl: string, replaced: (error: AppError) => void): () => void {
  if (engineOfUrl(databaseUrl) === 'postgres') return () => {};
  const paths = ENDS.map((end) => `${sqliteFile(databaseUrl)}${end}`);
  const first = paths.map(identity);
  const timer = setInterval(() => {
    const index = paths.findIndex((path, nth) => first[nth] !== null && identity(path) !== first[nth]);
    if (index === -1) return;
    clearInterval(timer);
    // New data may go to an unlinked file that disappears with the process.
    replaced(
      new AppError(
        'DATABASE_REPLACED',
        `${paths[index]} was replaced or removed while it was in use: events received since then may be lost. Restore the right file, start again, and check in readiness whether to replay events`,
      ),
    );
  }, EVERY_MS);
  return () => clearInterval(timer);
}

function identity(path: string): string | null {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev}/${found.ino}`;
}
