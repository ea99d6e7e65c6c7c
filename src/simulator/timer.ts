/** Does something once, after a number of milliseconds, unless the answered function is called before. */
export type Timer = (ms: number, act: () => void) => () => void;

export const systemTimer: Timer = (ms, act) => {
  const timeout = setTimeout(act, ms);
  return () => clearTimeout(timeout);
};
