/** The real executable in its own process, killed when the test ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Test } from 'tap';
import { loading } from '../support/loading.ts';
import { MAIN } from '../support/sidecar.ts';
import { assertNoSecret, type Ran, type Variables } from './harness.ts';

type Started = {
  child: ChildProcess;
  /** Resolves when stdout matches; rejects if the process ends first. */
  shows: (pattern: RegExp) => Promise<RegExpExecArray>;
  ended: Promise<Ran & { signal: string | null }>;
};

/** Starts it with these variables and no others, except those that make it start quickly. */
export function start(t: Test, env: Variables, argv: string[], nodeOptions: string[] = []): Started {
  const child = spawn(process.execPath, [...nodeOptions, MAIN, ...argv], {
    env: { ...loading(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]!.setEncoding('utf8').on('data', (part: string) => {
      texts[name] += part;
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => {
    assertNoSecret(t, texts.stdout + texts.stderr);
    return { code: code as number, signal: signal as string | null, ...texts };
  });
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const shows = async (pattern: RegExp): Promise<RegExpExecArray> => {
    for (;;) {
      const found = pattern.exec(texts.stdout);
      if (found !== null) return found;
      const more = once(child.stdout!, 'data').then(() => false);
      if (await Promise.race([more, ended.then(() => true)]))
        throw new Error(`it ended without showing ${pattern}: ${texts.stderr}`);
    }
  };
  return { child, shows, ended };
}

/** Runs it until it exits. */
export function execute(t: Test, env: Variables, argv: string[], nodeOptions: string[] = []) {
  return start(t, env, argv, nodeOptions).ended;
}
