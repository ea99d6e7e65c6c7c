/** The event was not stored; the sender should try again. */
export class NotStored extends Error {
  readonly code = 'NOT_STORED';
}
