import type { Output } from './output.ts';

/** Says, beside a page of a list, how to see the next one. */
export function notePage(out: Output, nextCursor: string | null): void {
  if (nextCursor !== null) out.note(`there are more: the same again with --cursor ${nextCursor}`);
}
