import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import Type, { type Static } from 'typebox';
import { identifier, oneOf } from '../../contract/fields.ts';
import { codeOf, isFatal } from '../../database/errors.ts';
import { cursorOf } from '../../formats/cursor.ts';
import { CHANGES, FLAGS, LINE_KINDS, type Line } from '../../payroll/calculation/line.ts';
import { csvOfLines } from '../../payroll/runs/csv.ts';
import { type LinesOfEmployee, linesOfRun } from '../../payroll/runs/line-pages.ts';
import { linesOfOne } from '../../payroll/runs/lines-of-employee.ts';
import type { StoredRun } from '../../payroll/runs/store.ts';
import { negotiated } from '../accept.ts';
import { causeOf } from '../failure.ts';
import { type LinePosition, linesBehind } from '../line-page.ts';
import type { ApiParts } from '../parts.ts';
import { invalid, Refusal } from '../problem.ts';
import { type Line as LineSchema, RunId } from '../run-schemas.ts';
import { type Api, closed, cursor, LIMIT_DEFAULT, limit, pageOf } from '../schemas.ts';
import { storedRun, withEtag } from './payroll-runs.ts';

const JSON_TYPE = 'application/json';
const CSV_TYPE = 'text/csv';
const NDJSON_TYPE = 'application/x-ndjson';
/** The first is what a caller gets who does not say. */
const OFFERED = [JSON_TYPE, CSV_TYPE, NDJSON_TYPE] as const;

const LineQuery = closed({
  employee_id: Type.Optional({ ...identifier, description: 'The lines of this employee only.' }),
  kind: Type.Optional({ ...oneOf(LINE_KINDS), description: 'The lines of this kind only.' }),
  change: Type.Optional({
    ...oneOf(CHANGES),
    description: 'Only what is so against the previous finalized run.',
  }),
  flag: Type.Optional({ ...oneOf(FLAGS), description: 'Only the lines with this flag.' }),
  cursor,
  limit,
});
type LineQuery = Static<typeof LineQuery>;

const linePosition = cursorOf(
  'payroll-run-lines',
  Type.Object({
    employeeId: Type.String(),
    position: Type.Integer({ minimum: 0 }),
    given: Type.Integer({ minimum: 0 }),
  }),
);

const LinePage = pageOf(Type.Unsafe<Static<typeof LineSchema>>({ $ref: 'Line#' }));

/** The lines of a run: in pages, or as one file that is written while it is computed. */
export function payrollRunLineRoutes(app: Api, { db, log, onFatal }: ApiParts): void {
  app.get(
    '/v1/payroll-runs/:run_id/lines',
    {
      config: { scope: 'runs:read', refuses: ['not-found', 'not-acceptable', 'conflict', 'run-refused'] },
      schema: {
        operationId: 'listPayrollRunLines',
        tags: ['Payroll runs'],
        summary: 'List the lines of a payroll run',
        description:
          'By employee. By `Accept` as JSON in pages, all at the position of the ledger that the first was computed at; ' +
          'or the whole run at once, as `text/csv` or as `application/x-ndjson`, a line of JSON for each. ' +
          'With `kind`, `change` or `flag` the whole run is read, and only such lines are answered. ' +
          'The answer for a run that is not open any more has the header `ETag`, that of its lines.',
        params: RunId,
        querystring: LineQuery,
        response: {
          200: Type.Unsafe<unknown>({
            description: 'The lines.',
            content: {
              [JSON_TYPE]: { schema: LinePage },
              [CSV_TYPE]: { schema: Type.String({ description: 'A header, then a row a line.' }) },
              [NDJSON_TYPE]: { schema: Type.String({ description: 'A `Line` on each line.' }) },
            },
          }),
        },
      },
    },
    async (request, reply) => {
      const { params, query, headers } = request;
      const type = negotiated(headers.accept, OFFERED);
      if (type !== JSON_TYPE) assertWhole(query);
      const from = linePosition.decode(query.cursor);
      const stored = await storedRun(db, params.run_id);
      const { position, pages } = await linesFrom(stored, query, from ?? null);
      const answer =
        type === JSON_TYPE
          ? await pageFrom(pages, from ?? { employeeId: '', position, given: 0 }, query.limit)
          : fileOf(type, stored, await begun(pages, tell(request)));
      if (stored.etag !== null) withEtag(reply, stored.etag);
      return reply.header('vary', 'accept').type(type).send(answer);
    },
  );

  async function linesFrom(stored: StoredRun, query: LineQuery, from: LinePosition | null) {
    const { employee_id } = query;
    const list =
      employee_id === undefined
        ? await linesOfRun(db, stored, from)
        : await linesOfOne(db, stored, employee_id, from?.position ?? null);
    if (from !== null && from.position !== list.position) {
      throw new Refusal(
        'conflict',
        'the run was finalized since this list began: begin it again, without cursor',
      );
    }
    return { ...list, pages: wantedOf(list.pages, query) };
  }

  /** An answer that has begun can't become a refusal: it breaks off, and this line says why. */
  function tell(request: FastifyRequest) {
    return (error: unknown): void => {
      const route = `${request.method} ${request.routeOptions.url}`;
      log.error({ route, code: codeOf(error), cause: causeOf(error) }, 'an answer broke off');
      if (isFatal(error)) onFatal(error);
    };
  }
}

/** The lines that a query wants, of each employee in their order; who has none of them is passed over. */
async function* wantedOf(
  pages: AsyncIterable<LinesOfEmployee[]>,
  { kind, change, flag }: LineQuery,
): AsyncGenerator<LinesOfEmployee[]> {
  const isWanted = (line: Line): boolean =>
    (kind === undefined || line.kind === kind) &&
    (change === undefined || line.change === change) &&
    (flag === undefined || line.flags.includes(flag));
  for await (const page of pages) {
    const wanted = page.map(({ employeeId, lines }) => ({ employeeId, lines: lines.filter(isWanted) }));
    const some = wanted.filter(({ lines }) => lines.length > 0);
    if (some.length > 0) yield some;
  }
}

async function pageFrom(pages: AsyncIterable<LinesOfEmployee[]>, from: LinePosition, limit = LIMIT_DEFAULT) {
  const { lines, next } = await linesBehind(pages, from, limit);
  return { data: lines, next_cursor: linePosition.encode(next) };
}

function fileOf(
  type: typeof CSV_TYPE | typeof NDJSON_TYPE,
  stored: StoredRun,
  pages: AsyncIterable<Line[]>,
): Readable {
  return type === CSV_TYPE ? csvOfLines(stored, pages) : ndjsonOf(pages);
}

function assertWhole(query: LineQuery): void {
  const rule = 'is for JSON: this content type has all lines at once';
  const given = (['cursor', 'limit'] as const).filter((name) => query[name] !== undefined);
  if (given.length > 0) throw invalid(given.map((path) => ({ path, rule })));
}

/** The lines page by page. The first page is here already: what can't be computed is refused, not begun. */
async function begun(
  pages: AsyncGenerator<LinesOfEmployee[]>,
  broken: (error: unknown) => void,
): Promise<AsyncGenerator<Line[]>> {
  const first = await pages.next();
  return (async function* () {
    try {
      if (!first.done) yield linesIn(first.value);
      for await (const page of pages) yield linesIn(page);
    } catch (error) {
      broken(error);
      throw error;
    }
  })();
}

function linesIn(page: readonly LinesOfEmployee[]): Line[] {
  return page.flatMap((employee) => employee.lines);
}

/** One JSON text a line. A reader that is slow is waited for. */
function ndjsonOf(pages: AsyncIterable<Line[]>): Readable {
  async function* texts(): AsyncGenerator<string> {
    for await (const lines of pages) yield lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  }
  return Readable.from(texts(), { objectMode: false });
}
