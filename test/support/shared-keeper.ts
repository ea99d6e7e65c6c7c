/** Starts a shared resource (`shared.ts`), and stops it once the runner is gone. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isRunning } from './memory.ts';
import { type Resource, writeWhole } from './shared.ts';

const LOOK_EVERY_MS = 500;
const [, , module = '', folder = '', runner = ''] = process.argv;

const { start } = (await import(module)) as { start(): Promise<Resource> };
const { address, stop } = await start();
writeWhole(join(folder, 'address'), address);
while (isRunning(Number(runner))) await pause(LOOK_EVERY_MS);
await stop();
rmSync(folder, { recursive: true, force: true });
