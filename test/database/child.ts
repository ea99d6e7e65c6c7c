/** Starts other processes, like other sidecars and commands, and kills them when the test ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

type Child = {
  readonly process: ChildProcess;
  /** Returns the next line of standard output. Rejects if the process ends first. */
  readonly line: () => Promise<string>;
  /** Waits for the end. Returns the exit code or the signal. */
  readonly end: () => Promise<number | string>;
};

/** Starts `test/database/<script>` with the project's Node. Standard error is the test's. */
export function startChild(t: Test, script: string, ...args: string[]): Child {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const process_ = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(process_, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  t.teardown(() => {
    process_.kill('SIGKILL');
    return ended;
  });
  return { process: process_, line: lineReader(process_), end: () => ended };
}

function lineReader(child: ChildProcess): () => Promise<string> {
  const lines = child.stdout!.setEncoding('utf8')[Symbol.asyncIterator]();
  let text = '';
  return async () => {
    while (!text.includes('\n')) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`the child ended after printing ${JSON.stringify(text)}`);
      text += value;
    }
    const [line = '', ...rest] = text.split('\n');
    text = rest.join('\n');
    return line;
  };
}
