/** Unsigned requests as raw HTTP, by what makes them expensive. */
import { randomBytes } from 'node:crypto';

const ORDINARY_BYTES = 1_024;
/** The largest body that the receiver reads. */
const LARGE_BYTES = 256 * 1_024;
/** As many as fit into the headers that Node reads. */
const ENTRIES = 5_000;
/** As many as the receiver compares. */
const COMPARED = 10;

export type Attack = {
  name: string;
  title: string /** `Content-Length` in bytes. */;
  bytes: number;
  request(): Buffer;
};

export const ATTACKS: readonly Attack[] = [
  attackOf('plain', 'no signature, 1 KiB', ORDINARY_BYTES, []),
  attackOf('wrong', 'a wrong signature, 1 KiB', ORDINARY_BYTES, [['svix', wrong()]]),
  attackOf('ten', `${COMPARED} wrong signatures under two header sets, 1 KiB`, ORDINARY_BYTES, [
    ['svix', wrong(COMPARED)],
    ['webhook', wrong(COMPARED)],
  ]),
  attackOf('entries', `a signature header of ${ENTRIES} entries, 1 KiB`, ORDINARY_BYTES, [
    ['svix', Array(ENTRIES).fill('v1').join(' ')],
  ]),
  attackOf('large-plain', 'no signature, 256 KiB', LARGE_BYTES, []),
  attackOf('large', 'a wrong signature, 256 KiB', LARGE_BYTES, [['svix', wrong()]]),
  attackOf('large-twice', 'wrong signatures under two header sets, 256 KiB', LARGE_BYTES, [
    ['svix', wrong()],
    ['webhook', wrong()],
  ]),
];

function attackOf(
  name: string,
  title: string,
  bytes: number,
  sets: readonly (readonly [prefix: string, signature: string])[],
): Attack {
  return {
    name,
    title,
    bytes,
    request() {
      const timestamp = Math.floor(Date.now() / 1_000);
      const headers = sets.map(
        ([prefix, signature]) =>
          `${prefix}-id: msg_${name}\r\n${prefix}-timestamp: ${timestamp}\r\n${prefix}-signature: ${signature}\r\n`,
      );
      return Buffer.from(
        `POST /webhooks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${bytes}\r\n${headers.join('')}\r\n${'x'.repeat(bytes)}`,
      );
    },
  };
}

function wrong(entries = 1): string {
  return Array.from({ length: entries }, () => `v1,${randomBytes(32).toString('base64')}`).join(' ');
}
