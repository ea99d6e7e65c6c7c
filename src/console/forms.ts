/** Reads posted forms, and streams uploaded files to the API. */

import { parse } from 'node:querystring';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import formbody from '@fastify/formbody';
import multipart, { type Multipart } from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { RouteScope } from '../api/auth.ts';
import { Refusal } from '../api/problem.ts';
import { isCodedError } from '../errors.ts';
import { count } from './elements/format.ts';
import type { Html } from './html.ts';
import { showNames } from './names.ts';
import { type Console, type Done, sendResult, type Visit, visitOf } from './page.ts';

/** The largest form is a list of 530 rows with four fields each. */
export const FORM_FIELDS_MAX = 2_500;
/** Maximum size of an uploaded file. The limit of each API route is lower, so the route reports its own. */
const FILE_BYTES_MAX = 257 * 1024 * 1024;
/** The API's limit for an organization, which is read into memory before the streamed file. */
const SMALL_FILE_BYTES_MAX = 1024 * 1024;
const FIELD_BYTES_MAX = 8 * 1024;
const PARTS_MAX = 20;
const FIELD_TOO_LARGE = `Nothing was saved: a field has at most ${FIELD_BYTES_MAX / 1024} KiB.`;
const CUT_OFF = 'The upload was interrupted and nothing was saved. Upload the file again.';

export async function readForms(app: FastifyInstance): Promise<void> {
  await app.register(multipart, {
    // The API reports a file that is too large.
    throwFileSizeLimit: false,
    limits: {
      fileSize: FILE_BYTES_MAX,
      fieldSize: FIELD_BYTES_MAX,
      parts: PARTS_MAX,
      headerPairs: PARTS_MAX,
    },
  });
  // One more than allowed, to notice a form that has too many.
  await app.register(formbody, { parser: (text) => parse(text, '&', '=', { maxKeys: FORM_FIELDS_MAX + 1 }) });
  app.addHook('preValidation', async ({ body, headers }) => {
    if (!headers['content-type']?.startsWith('application/x-www-form-urlencoded')) return;
    if (Object.values((body ?? {}) as object).flat().length > FORM_FIELDS_MAX) {
      const most = count(FORM_FIELDS_MAX);
      throw new Refusal('TOO_LARGE', `Nothing was saved: a form has at most ${most} fields.`);
    }
  });
}

export type Upload = Visit & {
  /** The fields before the files. */
  readonly fields: Readonly<Record<string, string>>;
  /** Other files, which come before it, by field name. */
  readonly small: Readonly<Record<string, Buffer>>;
  readonly filename: string;
  readonly file: Readable;
};

/** Declares what a form with a file does: `POST url`. The field `file`, whose file is streamed, must be the last. */
export function upload(
  { app, parts, options }: Console,
  url: string,
  scope: RouteScope,
  act: (uploaded: Upload) => Promise<Html | Done>,
): void {
  app.post(url, options(scope), async (request, reply) => {
    let result: Html | Done;
    try {
      const { fields, small, part } = await readUpload(request).catch(rethrowCutOff);
      const content = Readable.from(withCutOff(part.file), { objectMode: false });
      const { filename } = part;
      const visit = visitOf(request, parts);
      const done = await act({ ...visit, fields, small, filename, file: content });
      result = 'go' in done ? done : await showNames(done, visit);
    } finally {
      // A browser reads no response before it has sent the whole form.
      request.raw.unpipe();
      await finished(request.raw.resume()).catch(() => {});
    }
    return sendResult(reply, result);
  });
}

async function readUpload(request: FastifyRequest) {
  if (!request.isMultipart()) throw new Refusal('UNSUPPORTED_MEDIA_TYPE', 'This form must include a file.');
  const fields: Record<string, string> = {};
  const small: Record<string, Buffer> = {};
  for await (const part of request.parts() as AsyncIterable<Multipart>) {
    if (part.type === 'field') {
      if (part.valueTruncated) throw new Refusal('TOO_LARGE', FIELD_TOO_LARGE);
      fields[part.fieldname] = String(part.value);
      continue;
    }
    // Browsers send a file field without a file as one without a name.
    if ((part.filename ?? '') === '') part.file.resume();
    else if (part.fieldname === 'file') return { fields, small, part };
    else small[part.fieldname] = await readSmall(part.file);
  }
  throw new Refusal('INVALID_REQUEST', 'Choose a file first.');
}

/** A form that ends early is the client's error: its connection broke. */
function rethrowCutOff(error: unknown): never {
  const isKnown = isCodedError(error) || (error as { statusCode?: number }).statusCode !== undefined;
  throw isKnown ? error : new Refusal('INVALID_REQUEST', CUT_OFF);
}

async function* withCutOff(file: Readable): AsyncGenerator<Buffer> {
  try {
    yield* file;
  } catch {
    throw new Refusal('INVALID_REQUEST', CUT_OFF);
  }
}

async function readSmall(file: Readable): Promise<Buffer> {
  const all: Buffer[] = [];
  let bytes = 0;
  for await (const part of file as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > SMALL_FILE_BYTES_MAX) {
      const message = 'The organization file is larger than 1 MiB. Check that it is the right file.';
      throw new Refusal('TOO_LARGE', message);
    }
    all.push(part);
  }
  return Buffer.concat(all);
}
