import hooks from 'node:async_hooks';
import type { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import type { Base } from 'tap';

/**
 * Reports an uncaught error as a failure of the test that runs, or of the file if none does. Tap would follow every
 * promise to find that test, which takes a tenth of the CPU time. Tests in a process run one after another.
 */
export async function failRunningTest(): Promise<void> {
  const ignored = { enable: () => ignored, disable: () => ignored };
  hooks.createHook = () => ignored;
  syncBuiltinESMExports();
  const { default: t } = await import('tap');
  const running = new Set<Pick<Base, 'threw'>>([t]);
  const follow = (parent: EventEmitter): void => {
    parent.on('subtestStart', (test: Base & EventEmitter) => {
      running.add(test);
      follow(test);
    });
    parent.on('subtestEnd', (test: Base) => running.delete(test));
  };
  follow(t as unknown as EventEmitter);
  process.on('uncaughtException', (error) => [...running].at(-1)?.threw(error));
}
