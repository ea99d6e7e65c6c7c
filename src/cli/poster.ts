import { Agent, request } from 'undici';
import type { Clock } from '../clock.ts';
import { codeOf } from '../database/errors.ts';
import type { Fixture } from '../simulator/events.ts';
import { signEvent } from '../simulator/sign.ts';

/** The interface's limit for an acknowledgement; a receiver that needs longer has failed. */
const ANSWER_MS = 15_000;

/** What became of one event: `answer` is the status, or why there was none. */
export type Posted = { file: string; delivered: boolean; answer: string };

/** Posts events, each signed at the time it goes out. Redirects are not followed. */
export function createPoster(options: { url: string; secret: string; now: Clock; signal: AbortSignal }) {
  const { url, secret, now, signal } = options;
  const agent = new Agent({ headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS });
  return {
    async post({ file, id, body }: Fixture): Promise<Posted> {
      const text = JSON.stringify(body);
      const headers = { 'content-type': 'application/json', ...signEvent(secret, id, now(), text) };
      try {
        const answer = await request(url, { method: 'POST', headers, body: text, dispatcher: agent, signal });
        await answer.body.dump();
        const { statusCode } = answer;
        return { file, delivered: statusCode >= 200 && statusCode < 300, answer: String(statusCode) };
      } catch (error) {
        return { file, delivered: false, answer: codeOf(error) || (error as Error).name };
      }
    },
    close: () => agent.destroy(),
  };
}
