/** Files that people bring: streamed on to the API as they come. Nothing of one is kept here, nor written anywhere. */
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Multipart, MultipartFile } from '@fastify/multipart';
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteScope } from '../api/auth.ts';
import { type ProblemDetails, Refusal } from '../api/problem.ts';
import type { Html } from './html.ts';
import { ApiRefusal, personOf } from './own-api.ts';
import { type Act, type Done, sendPart, visitOf } from './page.ts';
import type { ConsoleParts } from './parts.ts';

/** More than any route of the API takes, so that it is the route that says how large a file may be. */
const FILE_BYTES_MAX = 257 * 1024 * 1024;
/** Of a file that is read before the streamed one, and is in memory whole: an organization, which the API bounds at this. */
const SMALL_FILE_BYTES_MAX = 1024 * 1024;
/** Of a text in such a form: a word, or a reason. */
const FIELD_BYTES_MAX = 8 * 1024;
/** Fields of such a form, files and texts. */
const PARTS_MAX = 20;

/** A form with a file. `form` and `small` hold what stands before the file in the form, and nothing that stands after it. */
export type Upload = Act & {
  /** Other files, by the names of their fields. Of a field without a file there is none. */
  readonly small: Readonly<Record<string, Buffer>>;
  /** The file's own name, as the person's machine calls it. */
  readonly filename: string;
  readonly file: Readable;
  /** Hands a body on to the API as this person; answers its JSON. Throws `ApiRefusal`. */
  send(call: FileCall): Promise<unknown>;
};

type FileCall = {
  readonly method: 'POST' | 'PUT';
  /** A path of the API. */
  readonly path: string;
  /** The content type, and others. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
};

/** Once, for the listener's console. */
export async function readUploads(app: FastifyInstance): Promise<void> {
  await app.register(multipart, {
    // The API then says in its own words that a file is too large.
    throwFileSizeLimit: false,
    limits: {
      fileSize: FILE_BYTES_MAX,
      fieldSize: FIELD_BYTES_MAX,
      fields: PARTS_MAX,
      files: PARTS_MAX,
      parts: PARTS_MAX,
      headerPairs: PARTS_MAX,
    },
  });
}

/**
 * Declares what a form with a file does: `POST url`, sent by htmx as `multipart/form-data`. `file` is the name of the
 * field whose file is streamed; put it last. What `act` answers is a part of a page for the form's target, or where
 * the browser goes.
 */
export function upload(
  app: FastifyInstance,
  parts: ConsoleParts,
  { url, scope, file }: { url: string; scope: RouteScope; file: string },
  act: (given: Upload) => Promise<Html | Done>,
): void {
  app.post(url, { config: { scope }, schema: { hide: true } }, async (request, reply) => {
    let did: Html | Done;
    try {
      const { form, small, brought } = await readForm(request, file).catch(refuseBroken);
      did = await act({
        ...visitOf(app, request, parts),
        form,
        small,
        filename: brought.filename,
        file: Readable.from(untilCut(brought.file), { objectMode: false }),
        send: (call) => sendOn(app, request, call),
      });
    } finally {
      // A browser reads no response before it has sent the whole form.
      request.raw.unpipe();
      await finished(request.raw.resume()).catch(() => {});
    }
    if ('go' in did) return reply.code(204).header('hx-redirect', did.go).send();
    return sendPart(reply, did);
  });
}

async function readForm(request: FastifyRequest, name: string) {
  if (!request.isMultipart()) throw new Refusal('unsupported-media-type', 'this form sends a file');
  const form: Record<string, string> = {};
  const small: Record<string, Buffer> = {};
  for await (const part of request.parts() as AsyncIterable<Multipart>) {
    if (part.type === 'field') {
      if (part.valueTruncated) throw new Refusal('too-large', 'a field of the form is too long');
      if (typeof part.value === 'string' && part.value !== '') form[part.fieldname] = part.value;
    } else if (isAbsent(part)) part.file.resume();
    else if (part.fieldname === name) return { form, small, brought: part };
    else small[part.fieldname] = await whole(part.file);
  }
  throw new Refusal('invalid-request', 'choose a file first');
}

/** A form that can't be read to its end is no fault of ours: a connection broke, or it was made by hand. */
function refuseBroken(error: unknown): never {
  const isTold = error instanceof Refusal || (error as { statusCode?: number }).statusCode !== undefined;
  throw isTold ? error : cutOff();
}

/** The same for the file: the API, which reads it, is told by the error that ends it. */
async function* untilCut(file: Readable): AsyncGenerator<Buffer> {
  try {
    yield* file;
  } catch {
    throw cutOff();
  }
}

function cutOff(): Refusal {
  return new Refusal(
    'invalid-request',
    'the form can not be read to its end, as if it was cut off on its way: nothing was done, bring the file again',
  );
}

/** A field in which no file was chosen is sent all the same, as one without a name. */
function isAbsent({ filename }: MultipartFile): boolean {
  return (filename ?? '') === '';
}

async function whole(file: Readable): Promise<Buffer> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const part of file as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > SMALL_FILE_BYTES_MAX) {
      throw new Refusal(
        'too-large',
        `this file has at most ${SMALL_FILE_BYTES_MAX / 1024 / 1024} MiB: is it the right one?`,
      );
    }
    all.push(part);
  }
  return Buffer.concat(all);
}

async function sendOn(app: FastifyInstance, request: FastifyRequest, call: FileCall): Promise<unknown> {
  const { method, path, headers, body } = call;
  const answer = await app.inject({
    method,
    url: path,
    headers: { ...personOf(request), accept: 'application/json', ...headers },
    payload: body,
  });
  const said: unknown = JSON.parse(answer.payload);
  if (answer.statusCode >= 400) throw new ApiRefusal(said as ProblemDetails);
  return said;
}
