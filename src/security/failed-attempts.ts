import type { Clock } from '../clock.ts';

/** More than a person mistypes or a program retries; a program that repeats a revoked token exceeds it. */
const ATTEMPTS = 20;
const WINDOW_MS = 60_000;
/** Addresses remembered at once. The oldest is forgotten first, so that memory stays bounded. */
const ADDRESSES_MAX = 1_000;

/** Counts failed attempts to authenticate by source address. Valid tokens are never counted or refused. */
export function createFailedAttempts(now: Clock) {
  const byAddress = new Map<string, { count: number; until: number }>();
  return {
    /** Counts a failed attempt. Returns the seconds to wait after too many in this minute, else null. */
    failed(address: string): number | null {
      const at = now().getTime();
      let window = byAddress.get(address);
      if (window === undefined || window.until <= at) {
        byAddress.delete(address);
        const [oldest] = byAddress.keys();
        if (byAddress.size >= ADDRESSES_MAX && oldest !== undefined) byAddress.delete(oldest);
        window = { count: 0, until: at + WINDOW_MS };
        byAddress.set(address, window);
      }
      window.count += 1;
      return window.count > ATTEMPTS ? Math.ceil((window.until - at) / 1_000) : null;
    },
  };
}
