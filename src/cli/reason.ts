import { WrongUsage } from './failure.ts';

/** Of the reason, in characters; the API's own bound. */
const REASON_MOST = 500;

/** A reason that is kept, without blanks around it. Throws `WrongUsage` when it says nothing or too much. */
export function reasonOf(text: string): string {
  const reason = text.trim();
  if (reason !== '' && reason.length <= REASON_MOST) return reason;
  throw new WrongUsage(`--reason must say why, in at most ${REASON_MOST} characters`);
}
