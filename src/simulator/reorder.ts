/**
 * Holds deliveries back until there are enough of them, and lets them go one after the other, the newest first. What
 * waits too long for others goes as it is.
 */
export type Reorder = {
  /** Resolves when the delivery was made. */
  hold(size: number, deliver: () => Promise<void>): Promise<void>;
  /** Lets nothing more go; who waits is told that it is over. */
  close(): void;
};

/** Longer than a burst takes, short enough for a person who waits for the last event of one. */
const HELD_AT_MOST_MS = 1_000;

type Held = { deliver: () => Promise<void>; over: () => void };

/** `later` does something after a number of milliseconds, unless the simulator is closed before. */
export function createReorder(later: (ms: number, act: () => void) => void): Reorder {
  let held: Held[] = [];
  const release = async (): Promise<void> => {
    const batch = held;
    held = [];
    for (const { deliver, over } of batch.reverse()) {
      await deliver();
      over();
    }
  };
  return {
    hold: (size, deliver) =>
      new Promise((over) => {
        held.push({ deliver, over });
        const batch = held;
        if (batch.length >= size) return void release();
        if (batch.length > 1) return;
        later(HELD_AT_MOST_MS, () => {
          if (held === batch) void release();
        });
      }),
    close: () => {
      for (const { over } of held) over();
      held = [];
    },
  };
}
