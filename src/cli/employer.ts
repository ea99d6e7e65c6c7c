import { identifier } from '../contract/fields.ts';
import { pathSegment } from '../outbound/client.ts';
import { WrongUsage } from './failure.ts';

/** An employer id that can be part of the service's address, where its census is uploaded to. */
export function employerId(text: string): string {
  if (pathSegment(text) !== null && [...text].length <= identifier.maxLength) return text;
  throw new WrongUsage(
    `--employer must be an id of 1 to ${identifier.maxLength} characters that can stand in an address`,
  );
}
