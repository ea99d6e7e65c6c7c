/** Starts a shared resource (`shared.ts`), and stops it once the runner is gone. */
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isRunning } from './memory.ts';
import type { Resource } from './shared.ts';

const LOOK_EVERY_MS = 500;
const [, , name = '', folder = '', runner = ''] = process.argv;

/** Writes a file that readers see complete or not at all. */
function write(file: string, text: string): void {
  writeFileSync(join(folder, `${file}.new`), text);
  renameSync(join(folder, `${file}.new`), join(folder, file));
}

let resource: Resource | undefined;
try {
  const { start } = (await import(`./${name}.ts`)) as { start(): Promise<Resource> };
  resource = await start();
  write('address', resource.address);
} catch (error) {
  write('failure', error instanceof Error ? `${error.stack}` : String(error));
}
while (isRunning(Number(runner))) await pause(LOOK_EVERY_MS);
await resource?.stop();
rmSync(folder, { recursive: true });
