/** Traces and injects faults into the system calls of the running executable. Needs Linux and `strace`. */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Test } from 'tap';
import type { Variables } from './settings.ts';
import { MAIN } from './sidecar.ts';

/** The calls that make writes durable. The engine uses one of them. */
export const SYNCS = ['fsync', 'fdatasync'] as const;

/** Returns why `strace` cannot be used here, or false. Tries it on an idle process. */
export async function straceMissing(): Promise<string | false> {
  const idle = spawn('sleep', ['60']);
  try {
    await once(idle, 'spawn');
    const tried = spawn('strace', ['-o', '/dev/null', '-p', String(idle.pid)]);
    await once(tried, 'spawn');
    const { attached, said } = await hasAttached(tried);
    tried.kill();
    return attached ? false : `strace is not permitted to trace other processes: ${said.split('\n')[0]}`;
  } catch {
    return 'strace is not installed (Debian: apt-get install strace)';
  } finally {
    idle.kill();
  }
}

/**
 * Writes these calls of all threads of a process, with their data, to `file`, and injects the faults in `inject`, which
 * are counted per thread from now on. With `only`, calls on other files neither count nor appear. Resolves when it has
 * attached, and returns its end.
 */
export async function strace(
  t: Test,
  pid: number,
  file: string,
  calls: readonly string[],
  inject: readonly string[] = [],
  only: readonly string[] = [],
): Promise<{ ended: Promise<unknown> }> {
  const tracing = ['-f', '-y', '-s', '5000', '-o', file, '-e', `trace=${calls.join(',')}`];
  const spoiling = inject.flatMap((what) => ['-e', `inject=${what}`]);
  const paths = only.flatMap((path) => ['-P', path]);
  const child = spawn('strace', [...tracing, ...spoiling, ...paths, '-p', String(pid)]);
  const ended = once(child, 'close');
  t.teardown(() => {
    child.kill();
    return ended;
  });
  const { attached, said } = await hasAttached(child);
  if (!attached) throw new Error(`strace did not begin: ${said}`);
  return { ended };
}

/** Runs the executable, and kills it at the nth of these calls. Returns whether it was killed. */
export async function executeKilled(
  env: Variables,
  argv: readonly string[],
  calls: readonly string[],
  nth: number,
): Promise<boolean> {
  const inject = `inject=${calls.join(',')}:signal=SIGKILL:when=${nth}`;
  const [, signal] = await executeTraced(env, argv, calls, '/dev/null', ['-e', inject]);
  return signal === 'SIGKILL';
}

/** Runs the executable, and writes these calls to `file`. Returns its exit code and the signal that ended it. */
export async function executeTraced(
  env: Variables,
  argv: readonly string[],
  calls: readonly string[],
  file: string,
  options: readonly string[] = [],
): Promise<[code: number | null, signal: string | null]> {
  const traced = ['-f', '-y', '-s', '0', '-o', file, '-e', `trace=${calls.join(',')}`, ...options];
  const child = spawn('strace', [...traced, process.execPath, MAIN, ...argv], {
    env: { PATH: process.env.PATH, ...env },
    stdio: 'ignore',
  });
  return (await once(child, 'exit')) as [number | null, string | null];
}

/** Waits until it has attached, or has ended. */
async function hasAttached(
  child: ChildProcessWithoutNullStreams,
): Promise<{ attached: boolean; said: string }> {
  let said = '';
  for await (const part of child.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    said += part;
    if (/ attached/.test(said)) break;
  }
  child.stderr.resume();
  return { attached: / attached/.test(said), said };
}

type Call = {
  thread: string;
  name: string;
  /** The target of the file descriptor: a path, or `socket:[…]`. */
  on: string;
  /** The other arguments as strace prints them. */
  text: string;
  /** The result of the call: a number, and the error if there is one. Null if it never returned. */
  answer: string | null;
};

/** Returns the calls in the order in which they ended. Calls split by a line of a second thread are joined. */
export function callsIn(file: string): Call[] {
  const calls: Call[] = [];
  const begun = new Map<string, Call>();
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    if (resumed !== null) {
      const call = begun.get(thread);
      begun.delete(thread);
      const more = resumed[1] as string;
      if (call !== undefined) calls.push({ ...call, text: call.text + more, answer: answerIn(more) });
      continue;
    }
    const [, name, on = '', text = ''] = /^(\w+)\(\d+<([^>]*)>(.*)$/.exec(rest) ?? [];
    if (name === undefined) continue;
    const call = { thread, name, on, text, answer: null };
    if (text.endsWith('<unfinished ...>')) begun.set(thread, call);
    else calls.push({ ...call, answer: answerIn(text) });
  }
  return [...calls, ...begun.values()];
}

function answerIn(text: string): string | null {
  return /= (-?\d+[^=]*)$/.exec(text)?.[1] ?? null;
}

/** Returns whether a call made the database's log durable. */
export function isSyncOfLog({ name, on, answer }: Call): boolean {
  return on.endsWith('-wal') && (SYNCS as readonly string[]).includes(name) && answer === '0';
}

export function isWriteToLog({ name, on }: Call): boolean {
  return on.endsWith('-wal') && name === 'pwrite64';
}
