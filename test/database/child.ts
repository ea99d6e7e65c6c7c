/** Other processes, as other sidecars and commands are: started with a script's lines, killed when the test ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

export type Child = {
  readonly process: ChildProcess;
  /** Its next line of standard output. Rejects when it ends without one. */
  readonly line: () => Promise<string>;
  /** Waits for its end: its exit code, or the signal that killed it. */
  readonly end: () => Promise<number | string>;
};

/** Starts `test/database/<script>` with the project's Node. What it says on standard error is the test's. */
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
      if (done) throw new Error(`the child ended after saying ${JSON.stringify(text)}`);
      text += value;
    }
    const [line = '', ...rest] = text.split('\n');
    text = rest.join('\n');
    return line;
  };
}
