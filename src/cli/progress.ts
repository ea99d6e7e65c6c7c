import type { Output } from './output.ts';

export type Progress = {
  /** How much is done by now, of the whole. */
  set(done: number): void;
  /** Takes the bar away, so that what is printed next begins on a clean line. */
  end(): void;
};

/**
 * A progress bar on stderr, or nothing where that is no terminal. Without `total` it counts only.
 */
export async function showProgress(out: Output, what: string, total: number | null): Promise<Progress> {
  if (out.stderr.isTTY !== true) return { set: () => {}, end: () => {} };
  const { default: progress } = await import('cli-progress');
  const bar = new progress.SingleBar({
    stream: out.stderr,
    format: total === null ? `${what}: {value}` : `${what} {bar} {value}/{total}`,
    barCompleteChar: '#',
    barIncompleteChar: '.',
    hideCursor: true,
    clearOnComplete: true,
  });
  bar.start(total ?? 0, 0);
  return { set: (done) => bar.update(done), end: () => bar.stop() };
}

/** For work that tells how much it did each time: the bar shows the sum. */
export function adding(progress: Progress): (more: number) => void {
  let done = 0;
  return (more) => {
    done += more;
    progress.set(done);
  };
}
