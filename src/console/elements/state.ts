/** A state as its word; colour only adds to it. */
import { type Content, type Html, html } from '../html.ts';

/** `good`: nothing to do. `warn`: somebody should look. `bad`: somebody must act. `plain`: it goes on by itself. */
export type Tone = 'good' | 'warn' | 'bad' | 'plain';

/** The states of events, requests, syncs and runs; of the same word for two things, give the tone. */
const TONES: Readonly<Record<string, Tone>> = {
  applied: 'good',
  quarantined: 'bad',
  delivered: 'good',
  rejected: 'bad',
  waiting: 'warn',
  completed: 'good',
  failed: 'bad',
  overdue: 'bad',
  conflict: 'bad',
  finalized: 'good',
  pass: 'good',
  warn: 'warn',
  fail: 'bad',
  closed: 'bad',
};

/** `word` as it is written everywhere else: in the API, the docs and the command line. */
export function state(word: string, tone: Tone = TONES[word] ?? 'plain'): Html {
  return html`<span class=${`state ${tone}`}>${word}</span>`;
}

/** A sentence or a number in a tone, where the words are not a state. */
export function toned(content: Content, tone: Tone): Html {
  return html`<span class=${`state ${tone}`}>${content}</span>`;
}
