import Type, { type Static } from 'typebox';
import { compile } from './check.ts';
import { ID_MAX_CHARACTERS, nullable } from './fields.ts';
import { TIME_MAX_CHARACTERS } from './instant.ts';

/**
 * The frame of every event, whatever its type; the handler of the type checks `data`. Read tolerantly: unknown
 * fields pass, null means absent. `id` is the sender's name for the event; duplicates are told by the headers' id.
 */
export const Envelope = Type.Object({
  id: Type.Optional(nullable(Type.String({ maxLength: ID_MAX_CHARACTERS }))),
  event_type: Type.String({ minLength: 1 }),
  data: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
  created_at: Type.Optional(
    nullable(
      Type.String({
        format: 'instant',
        maxLength: TIME_MAX_CHARACTERS,
        rule: 'must be an ISO 8601 date and time',
      }),
    ),
  ),
});
export type Envelope = Static<typeof Envelope>;

export const envelope = compile(Envelope);
