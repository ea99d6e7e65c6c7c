import { ID_MAX_CHARACTERS } from '../contract/fields.ts';
import { pathSegment } from '../outbox/client.ts';
import { WrongUsage } from './failure.ts';

/** An employer id that can be part of the service's address, where its census is uploaded to. */
export function employerId(text: string): string {
  if (pathSegment(text) !== null && [...text].length <= ID_MAX_CHARACTERS) return text;
  throw new WrongUsage(
    `--employer must be an id of 1 to ${ID_MAX_CHARACTERS} characters that can stand in an address`,
  );
}
