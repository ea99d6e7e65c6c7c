/** How an employer's files are read: set, shown, proposed from a file, and tried. */
import { Readable } from 'node:stream';
import Type, { type Static } from 'typebox';
import { employeePath } from '../../census/reading.ts';
import { reviveSyncs } from '../../census/syncs.ts';
import { proposeCensusFormat } from '../../census/try-format.ts';
import { Organization } from '../../contract/census.ts';
import { PROBLEMS_MAX } from '../../contract/check.ts';
import * as field from '../../contract/fields.ts';
import { dayAt } from '../../database/time-zone.ts';
import { transact } from '../../database/transaction.ts';
import { conflict } from '../../errors.ts';
import {
  FILE_KINDS,
  type FileKind,
  type FileKindName,
  FORMAT_FIELDS,
  type FileFormat as FormatOfFile,
} from '../../formats/file-format.ts';
import { EMPTY_FORMAT } from '../../formats/proposal.ts';
import { strictCsv } from '../../formats/strict-csv.ts';
import { WORKBOOK_TYPE } from '../../formats/workbook/bounds.ts';
import { throughFormat } from '../../payroll/settings/census-format.ts';
import { FILES, newFormat, putFormat, readFormat } from '../../payroll/settings/file-formats.ts';
import { proposeRowFormat, rowPath, throughRowFormat } from '../../payroll/settings/row-files.ts';
import { actingIn } from '../auth.ts';
import { FileRepairs, viewRepairs } from '../file-repairs.ts';
import { type BodyStream, type Call, operation, type Parts } from '../operation.ts';
import { BINARY, EmployerId, instant, NewEmployerId } from '../schemas.ts';

const PATH = '/v1/employers/:employer_id/file-formats/:kind';

const kind = field.oneOfDescribed(FILE_KINDS, 'The kind of file.');
const FormatOf = field.closed({ ...EmployerId.properties, kind });
const NewFormatOf = field.closed({ ...NewEmployerId.properties, kind });

const Format = field.component('FileFormatContent', FORMAT_FIELDS, 'How the files of a kind are read.');

const FileFormatRequest = field.component(
  'FileFormatRequest',
  {
    ...FORMAT_FIELDS,
    organization: Type.Optional(
      field.nullable({
        ...Organization,
        description:
          'The organization of a census. It is encrypted and never shown. If it is omitted, the stored one stays; null removes it.',
      }),
    ),
  },
  'How the files of a kind are read. A person confirms it by setting it.',
);

const FileFormat = field.component(
  'FileFormat',
  {
    kind,
    version: field.nullable(
      field.integer('The number of the version, in the order set. Null without a format.'),
    ),
    format: field.nullable(Format),
    has_organization: field.boolean('Whether the format has the organization of a census.'),
  },
  "How an employer's files of a kind are read.",
);

async function formatOf({ db }: Pick<Parts, 'db'>, params: Static<typeof FormatOf>, knownAt?: string) {
  const stored = await readFormat(db, params.employer_id, params.kind, knownAt);
  const { version = null, format = null, organization = null } = stored ?? {};
  return { kind: params.kind, version, format, has_organization: organization !== null };
}

export const getFileFormat = operation({
  id: 'getFileFormat',
  method: 'GET',
  path: PATH,
  scope: 'runs:read',
  employers: 'employer',
  summary: 'Get how files of a kind are read',
  description:
    'Returns the file format, which is null if none was set. Files that follow the contract need none.',
  params: FormatOf,
  query: field.closed({ known_at: instant('Only what was set by this time. Default: now.') }),
  response: { 200: Type.Unsafe<Static<typeof FileFormat>>(FileFormat) },
  run: ({ params, query }, parts) => formatOf(parts, params, query.known_at),
});

/** A format of 200 columns has about 50 KB. */
const FORMAT_BYTES_MAX = 1024 * 1024;

export const putFileFormat = operation({
  id: 'putFileFormat',
  method: 'PUT',
  path: PATH,
  scope: 'runs:write',
  employers: 'new-employer',
  action: 'file-format.put',
  summary: 'Set how files of a kind are read',
  description:
    'Confirms a file format: which column is which field, and by which rules its values may change. Syncs that wait for it are ' +
    'requested again. The prefix of IDs cannot change once a file was read.',
  params: NewFormatOf,
  body: Type.Unsafe<unknown>(FileFormatRequest),
  isBodyUnchecked: true,
  response: { 200: Type.Unsafe<Static<typeof FileFormat>>(FileFormat) },
  refuses: ['SETTINGS_REFUSED', 'CONFLICT'],
  bodyLimit: FORMAT_BYTES_MAX,
  async run(call, parts) {
    const { params } = call;
    const format = newFormat(params.kind, call.body);
    const acting = actingIn(call, parts.now());
    await transact(parts.db, async (trx) => {
      await putFormat(trx, () => parts.encryptor, params.employer_id, format, acting);
      if (params.kind !== 'census') return;
      const revived = { employerId: params.employer_id, uploading: null, now: acting.now };
      await reviveSyncs(trx, revived, ['waiting']);
    });
    parts.wakeSend();
    return formatOf(parts, params);
  },
  logs: ({ params }, { version }) => [
    { employer_id: params.employer_id, count: version ?? 0 },
    'a file format was set',
  ],
});

/** The fields and constants of a kind, for a person to choose from. */
export function choicesOf(kind: FileKindName): Pick<FileKind, 'names' | 'constants'> {
  return FILES[kind];
}

/** A file that a person tries. */
const FILE_BYTES_MAX = 64 * 1024 * 1024;

type File = AsyncIterable<Uint8Array>;

const CSV = 'text/csv';

/** One at a time: a result is held in memory until the whole file was read. */
const FILE_STREAM: BodyStream<File> = {
  what: 'unconverted files',
  atOnce: 1,
  types: [CSV, WORKBOOK_TYPE],
  bytesMax: FILE_BYTES_MAX,
  tooLarge: `The file is larger than ${FILE_BYTES_MAX / 1024 / 1024} MiB.`,
  open: (content) => content,
  send: (content) => ({ content, headers: { 'content-type': CSV } }),
};

const FileBody = Type.Unsafe<File>({
  content: { [CSV]: { schema: Type.String() }, [WORKBOOK_TYPE]: { schema: BINARY } },
});

const Proposal = field.component(
  'FileFormatProposal',
  {
    format: field.nullable({
      ...Format,
      description:
        'The proposed format. What the employer’s format has for the same columns stays. Null if no header was found.',
    }),
    unread: Type.Array(Type.String(), { description: 'The columns that no field is read from.' }),
    valid: field.boolean('Whether the file could be read with this format.'),
    problem_count: Type.Integer(),
    problems: Type.Array(field.FieldProblem, {
      description: `The first ${PROBLEMS_MAX} problems of the file that the format leaves.`,
    }),
    repairs: FileRepairs,
  },
  'A file format for a person to check, and what it would change.',
);

export const proposeFileFormat = operation({
  id: 'proposeFileFormat',
  method: 'POST',
  path: `${PATH}/propose`,
  scope: 'runs:write',
  employers: 'new-employer',
  action: 'none',
  summary: 'Propose a file format',
  description:
    'Recognizes the columns of a CSV or an Excel workbook by their usual names, and returns a format to check and set, with every change that it would make. ' +
    'Reads UTF-8, UTF-16 and Windows-1252, with commas, semicolons, tabs or vertical bars, below up to 20 lines of titles. Stores nothing.',
  params: NewFormatOf,
  query: field.closed({
    sheet: Type.Optional(
      field.text('The sheet of a workbook. Default: that of the format, or the only visible one with data.'),
    ),
  }),
  body: FileBody,
  stream: FILE_STREAM,
  response: { 200: Type.Unsafe<Static<typeof Proposal>>(Proposal) },
  refuses: ['TOO_SLOW'],
  async run(call, parts) {
    const { repairs, ...proposal } = await triedFormat(call, parts);
    return { ...proposal, repairs: viewRepairs(repairs, call.caller) };
  },
});

type Trying = Call<Static<typeof NewFormatOf>, { sheet?: string }, File>;

async function triedFormat({ params, query: { sheet }, body }: Trying, parts: Parts) {
  const { employer_id, kind } = params;
  const { db, sharedNow } = parts;
  const stored = (await readFormat(db, employer_id, kind))?.format ?? (await likeCensus(parts, employer_id));
  const before = sheet === undefined ? stored : { ...(stored ?? EMPTY_FORMAT), sheet };
  if (kind !== 'census') return proposeRowFormat(parts, before, { employer_id, kind }, body);
  return proposeCensusFormat(body, before, dayAt(db, await sharedNow(db)));
}

/** Returns a format with the ID prefix of the census: payroll has the same IDs in all of its files. */
async function likeCensus({ db }: Pick<Parts, 'db'>, employerId: string): Promise<FormatOfFile | null> {
  const id_prefix = (await readFormat(db, employerId, 'census'))?.format.id_prefix ?? null;
  return id_prefix === null ? null : { ...EMPTY_FORMAT, id_prefix };
}

const StrictCsv = (description: string) => ({
  200: Type.Unsafe<Readable>({ description, content: { [CSV]: { schema: Type.String() } } }),
});

/** Returns the strict CSV of a file. Throws CONFLICT without a file format. */
async function converted(
  { params, body }: Call<Static<typeof NewFormatOf>, unknown, File>,
  parts: Parts,
): Promise<Readable> {
  const { employer_id, kind } = params;
  const reader = await readerOf(parts, employer_id, kind);
  if (reader === null)
    throw conflict(
      `The employer has no file format of the kind ${kind}. Propose one of the file, and set it.`,
    );
  const pathOf = (row: number) => (kind === 'census' ? employeePath(row) : rowPath(kind, row));
  return Readable.from(await strictCsv(reader.records(body), pathOf), { objectMode: false });
}

async function readerOf(parts: Parts, employer_id: string, kind: FileKindName) {
  if (kind !== 'census') return (await throughRowFormat(parts, employer_id, kind))?.reader() ?? null;
  const content = { format: 'csv', content: Readable.from([]) } as const;
  return (await throughFormat(parts, employer_id, content)).through ?? null;
}

export const convertFile = operation({
  id: 'convertFile',
  method: 'POST',
  path: `${PATH}/convert`,
  scope: 'runs:write',
  employers: 'new-employer',
  action: 'none',
  summary: 'Convert a file',
  description:
    "Returns a CSV as the employer's file format reads it: with the names of the fields as its header. Stores nothing.",
  params: NewFormatOf,
  body: FileBody,
  stream: FILE_STREAM,
  response: StrictCsv('The file as a strict CSV.'),
  refuses: ['TOO_SLOW', 'CONFLICT', 'ROWS_REFUSED'],
  run: converted,
});

export const convertCensus = operation({
  id: 'convertCensus',
  method: 'POST',
  path: '/v1/employers/:employer_id/census/convert',
  scope: 'census:write',
  employers: 'new-employer',
  action: 'none',
  summary: 'Convert a census file',
  description:
    "Returns a census of a CSV or an Excel workbook as the employer's file format reads it: with the fields of the contract as its header. Stores nothing.",
  params: NewEmployerId,
  body: FileBody,
  stream: FILE_STREAM,
  response: StrictCsv('The census as a strict CSV.'),
  refuses: ['TOO_SLOW', 'CONFLICT', 'ROWS_REFUSED'],
  run: (call, parts) => converted({ ...call, params: { ...call.params, kind: 'census' } }, parts),
});
