/** Runs the real executable with its own environment, keeps its output, and ends it with the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { loading } from './loading.ts';
import type { Variables } from './settings.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
/** The path of the executable. */
export const MAIN = join(PROJECT, 'src/main.ts');
/** The number of output characters shown when a test fails. */
const SHOWN_CHARACTERS = 4_000;

type LogLine = Record<string, unknown> & { level: string; msg: string };

export type Sidecar = {
  /** The ports of the two listeners; `port` is the receiver's. */
  readonly receiver: string;
  readonly port: number;
  readonly api: string;
  readonly pid: number;
  /** All output of both streams. */
  output(): string;
  /** The lines of its log, of all levels or only of these. */
  logged(...levels: string[]): LogLine[];
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | string>;
  signal(signal: NodeJS.Signals): void;
};

/** A started process that may have ended without serving. */
type Started = Omit<Sidecar, 'receiver' | 'port' | 'api'> & {
  /** Resolves when it serves. Rejects with its output if it ends first. */
  readonly serving: Promise<Sidecar>;
};

export type StartOptions = {
  /** A module that is loaded before the executable, in each of its threads. */
  preload?: string;
  /** Another executable than that of this checkout. */
  main?: string;
};

/** Starts `serve` and waits until it serves. */
export function serve(t: Test, variables: Variables, options: StartOptions = {}): Promise<Sidecar> {
  return start(t, variables, options).serving;
}

/** Running processes. A test process that is ended early kills them. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts `serve`. It inherits only PATH from this process's environment. */
export function start(t: Test, variables: Variables, { preload, main = MAIN }: StartOptions = {}): Started {
  const preloading = preload === undefined ? [] : ['--import', preload];
  const env = { PATH: process.env.PATH, ...loading(), ...variables };
  const child = spawn(process.execPath, [...preloading, main, 'serve'], {
    cwd: PROJECT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  const ended = once(child, 'close').then(([code, signal]) => {
    running.delete(child);
    return (code ?? signal) as number | string;
  });
  const said = collect(child);
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
    if (!t.passing()) t.comment(said.both().slice(-SHOWN_CHARACTERS));
  });
  const started = {
    pid: child.pid as number,
    output: said.both,
    logged: (...levels: string[]) =>
      said.lines().filter(({ level }) => levels.length === 0 || levels.includes(level)),
    ended,
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    end(signal: NodeJS.Signals) {
      child.kill(signal);
      return ended;
    },
  };
  const serving = (async (): Promise<Sidecar> => {
    const receiver = await said.address('receiving webhooks');
    const api = await said.address('private listener ready');
    return { ...started, receiver, api, port: Number(new URL(receiver).port) };
  })();
  // A caller that only waits for the end does not handle this rejection.
  serving.catch(() => {});
  return { ...started, serving };
}

function collect(child: ChildProcess) {
  let both = '';
  let stdout = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    both += part;
    stdout += part;
  });
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    both += part;
  });
  // The last line may be incomplete if the process was killed.
  const lines = (): LogLine[] =>
    stdout
      .slice(0, stdout.lastIndexOf('\n') + 1)
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as LogLine);
  return {
    both: () => both,
    lines,
    async address(message: string): Promise<string> {
      for (;;) {
        const line = lines().find(({ msg }) => msg === message);
        if (line !== undefined) return line.address as string;
        const [event] = await Promise.race([
          once(child.stdout as NodeJS.ReadableStream, 'data').then(() => ['data']),
          once(child, 'close').then(() => ['close']),
        ]);
        if (event === 'close') throw new Error(`it ended before serving: ${both}`);
      }
    },
  };
}
