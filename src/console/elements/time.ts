/** Instants are shown in UTC and say so; a day is shown as it is written. */
import { type Html, html } from '../html.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** The largest unit in which at least two are full, so that "1 day" never stands for 47 hours. */
const UNITS = [
  { ms: DAY_MS, name: 'd' },
  { ms: HOUR_MS, name: 'h' },
  { ms: MINUTE_MS, name: 'min' },
] as const;

/** `2026-01-31 09:30:00 UTC`; nothing where there is none. Any instant of the API, with or without an offset. */
export function instant(text: string | null | undefined): Html {
  if (text === null || text === undefined) return html`<span class="soft">–</span>`;
  return html`<time datetime=${text} title=${text}>${written(text)}</time>`;
}

/** The same on two lines, its day above its time, where there is little room. */
export function narrowInstant(text: string): Html {
  const [day = '', ...time] = written(text).split(' ');
  return html`<time datetime=${text} title=${text}>${day} <span class="under">${time.join(' ')}</span></time>`;
}

/** The same with how long ago it was, where that is what somebody wants to know. */
export function since(text: string | null | undefined, now: Date): Html {
  if (text === null || text === undefined) return instant(text);
  return html`<span>${instant(text)} <span class="soft">${`(${age(text, now)})`}</span></span>`;
}

/** How long ago an instant was: `12 s ago`, `3 min ago`, `in 5 h`. */
export function age(text: string, now: Date): string {
  const ms = now.getTime() - Date.parse(text);
  const long = duration(Math.abs(ms));
  return ms < 0 ? `in ${long}` : `${long} ago`;
}

/** Milliseconds in words. */
export function duration(ms: number): string {
  const unit = UNITS.find((one) => ms >= 2 * one.ms) ?? { ms: SECOND_MS, name: 's' };
  return `${Math.floor(ms / unit.ms)} ${unit.name}`;
}

/** A text that is no instant is shown as it is: it was received so. */
function written(text: string): string {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
