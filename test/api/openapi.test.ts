import { readdirSync } from 'node:fs';
import t from 'tap';
import Type from 'typebox';
import { negotiated } from '../../src/api/headers.ts';
import { operationsIn } from '../../src/api/operation.ts';
import { OPERATIONS } from '../../src/api/operations.ts';
import type { DeclaredRoute } from '../../src/api/route.ts';
import { TAGS } from '../../src/api/tags.ts';
import { cursorOf } from '../../src/formats/cursor.ts';
import { RunBody } from '../../src/payroll/records/body.ts';
import { referenceDocument } from '../../tools/reference.ts';
import { onSqlite } from '../support/engine.ts';
import { deductionOf, deliver } from './deliver.ts';
import { type Reference, start } from './start.ts';

const test = onSqlite.with(start);

const nameOf = ({ name }: { name: string }) => name;
const pathOf = ({ url }: DeclaredRoute) => url.replace(/:([a-z_]+)/g, '{$1}');

/** Returns every schema in a part of the document, at any depth. */
function* schemasIn(part: unknown): Generator<Record<string, unknown>> {
  if (Array.isArray(part)) for (const one of part) yield* schemasIn(one);
  else if (typeof part === 'object' && part !== null) {
    yield part as Record<string, unknown>;
    for (const one of Object.values(part)) yield* schemasIn(one);
  }
}

t.test('the reference has the operations of each tag together, in the order of the tags', async (t) => {
  const { paths, tags } = (await referenceDocument()) as {
    paths: Record<string, Record<string, { operationId: string; tags: string[] }>>;
    tags: { name: string }[];
  };
  t.strictSame(tags.map(nameOf), TAGS.map(nameOf));
  const ofPaths = Object.values(paths).flatMap((path) => Object.values(path).flatMap((one) => one.tags));
  t.strictSame([...new Set(ofPaths)], TAGS.map(nameOf), 'every tag has operations');
  const places = ofPaths.map((tag) => TAGS.findIndex(({ name }) => name === tag));
  t.strictSame(
    places,
    places.toSorted((left, right) => left - right),
  );
});

t.test('every operation that a file declares is registered', async (t) => {
  const folder = new URL('../../src/api/operations/', import.meta.url);
  const registered = OPERATIONS.flatMap(([, operations]) => operations);
  for (const name of readdirSync(folder)) {
    const declared = operationsIn(await import(new URL(name, folder).href));
    const missing = declared.filter((op) => !registered.includes(op));
    t.strictSame(missing, [], name);
  }
});

test('the reference is OpenAPI 3.1 and has exactly the routes of the listener', async (t, { app, call }) => {
  const reference: Reference = (await call({ url: '/openapi.json' })).json;
  t.equal(reference.openapi, '3.1.0');
  t.match(reference.info, { title: 'benefits-sidecar', version: '0.0.0', description: String });
  const declared = app.routeTable.routes
    .filter(({ hidden }) => !hidden)
    .flatMap((route) => route.methods.map((method) => `${method} ${pathOf(route)}`));
  const described = Object.entries(reference.paths as object).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  t.strictSame(described.sort(), declared.sort());
  const hidden = app.routeTable.routes.filter((route) => route.hidden);
  for (const { url } of hidden) t.match(url, /^\/docs/, 'except the page itself');
});

// `npm run lint` checks summaries, ids, parameters and references with the rules of Redocly.
test('every operation states its scope, and the refusals of its scope', async (t, { app, call }) => {
  const reference: Reference = (await call({ url: '/openapi.json' })).json;
  for (const route of app.routeTable.routes.filter(({ hidden }) => !hidden)) {
    const operation = reference.paths[pathOf(route)][(route.methods[0] as string).toLowerCase()];
    const name = `${route.methods[0]} ${route.url}`;
    const statuses = Object.keys(operation.responses);
    const isUndescribed = (status: string) => operation.responses[status].description === 'Default Response';
    t.strictSame(statuses.filter(isUndescribed), [], name);
    if (route.scope === 'public') t.strictSame(operation.security, [], name);
    else if (route.scope === 'any') t.strictSame(operation.security, [{ bearer: [] }, { basic: [] }]);
    else {
      const isSelf = route.scope === 'self';
      const enough = [route.scope].flat();
      const needed = isSelf ? [{ bearer: [] }] : enough.map((scope) => ({ bearer: [scope] }));
      t.strictSame(operation.security, needed, name);
      for (const scope of enough) t.match(operation.description, isSelf ? 'any valid token' : `\`${scope}\``);
      const missing = ['401', '403', '500', '503'].filter((status) => !statuses.includes(status));
      t.strictSame(missing, [], name);
    }
  }
});

test('our own annotations of schemas become standard keywords', async (t, { call }) => {
  const { components } = (await call({ url: '/openapi.json' })).json;
  const schemas = [...schemasIn(components)].filter(({ type }) => typeof type === 'string');
  const ours = ['nullable', 'x-refuses', '$id'];
  const annotated = schemas.filter((schema) => 'rule' in schema || ours.some((name) => name in schema));
  t.strictSame(annotated, []);
  t.ok(schemas.length > 100);
});

test('every field of a payroll run, its lines and its parts has a description', async (t, { call }) => {
  const { paths, components } = (await call({ url: '/openapi.json' })).json;
  const names = [
    ...['PayrollRun', 'PayrollRunSummary', 'PayrollRunPreview', 'Totals', 'Line'],
    ...['PayrollRunRequest', 'PayrollRunVerification', 'PayrollRunAudit'],
    ...['TakenRow', 'TakenReport', 'AuditedRow', 'PaySchedules', 'PayrollCodes', 'Readiness'],
  ];
  const { schemas } = components;
  for (const name of names) {
    t.ok(schemas[name]?.properties, name);
    const fields = [...schemasIn(schemas[name])].flatMap(({ properties }) =>
      Object.entries(properties ?? {}),
    );
    const undescribed = fields.filter(([, shape]) => !('$ref' in shape || shape.description));
    t.strictSame(undescribed, [], name);
  }
  t.strictSame(Object.keys(schemas.PayrollRunRequest.properties), Object.keys(RunBody.properties));
  const lines = paths['/v1/payroll-runs/{run_id}/lines'].get.responses['200'].content;
  t.strictSame(Object.keys(lines), ['application/json', 'text/csv', 'application/x-ndjson']);
});

test('the listener serves the page and everything it loads', async (t, { call }) => {
  const { text, headers } = await call({ url: '/docs' });
  const policy = String(headers['content-security-policy']);
  t.match(policy, /default-src 'none'/);
  t.notMatch(policy, /https?:|unsafe|\*/);
  const links = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link]) => link as string);
  t.ok(links.length >= 5);
  for (const link of links) {
    t.match(link, /^\/docs\/static\//, link);
    t.equal((await call({ url: link })).status, 200, link);
  }
  const { text: setup } = await call({ url: '/docs/static/swagger-initializer.js' });
  t.match(setup, 'validatorUrl: null');
});

type Operation = {
  readonly name: string;
  readonly requestBody?: { content: Record<string, Media> };
  readonly responses: Record<string, { content?: Record<string, Media> }>;
};
type Media = { schema: { $ref?: string }; example?: unknown };

const JSON_TYPE = 'application/json';
/** Lines are parts of their run: they are listed and streamed, and nothing refers to one. */
const WITHOUT_ID = ['Line', 'TakenLine'];
/** Each employer has one of each, at an address of its own, so these need no id. */
const SINGLETONS = ['PaySchedules', 'PayrollCodes', 'PayrollPolicy'];

async function read(t: Parameters<typeof start>[0]) {
  const { call } = await start(t);
  const reference: Reference = (await call({ url: '/openapi.json' })).json;
  const operations = Object.entries(reference.paths as Record<string, Record<string, object>>).flatMap(
    ([path, item]) =>
      Object.entries(item).map(([method, operation]) => {
        const name = `${method.toUpperCase()} ${path}`;
        return { ...operation, name } as Operation;
      }),
  );
  return { reference, operations, schemas: reference.components.schemas };
}

const nameIn = ({ schema }: Media) => schema.$ref?.split('/').at(-1);
const successOf = ({ responses }: Operation) =>
  Object.entries(responses).flatMap(([status, { content }]) => (status < '300' && content ? [content] : []));

t.test('every list has data, has_more and next_cursor, and its rows have ids', async (t) => {
  const { operations, schemas } = await read(t);
  const lists = operations
    .filter(({ name }) => name.startsWith('GET '))
    .flatMap((operation) => successOf(operation).flatMap((content) => content[JSON_TYPE] ?? []))
    .flatMap((media) => nameIn(media) ?? [])
    .filter((name) => schemas[name].properties?.data !== undefined);
  t.ok(lists.length >= 9);
  for (const list of new Set(lists)) {
    const { properties, required } = schemas[list];
    const missing = ['data', 'has_more', 'next_cursor'].filter((field) => !required.includes(field));
    t.strictSame(missing, [], list);
    t.match(properties.has_more, { type: 'boolean' }, list);
    const row = properties.data.items.$ref.split('/').at(-1);
    if (!WITHOUT_ID.includes(row))
      t.match(schemas[row].properties.id, { type: 'string' }, `${list} of ${row}`);
  }
  for (const [name, { properties = {} }] of Object.entries<{ properties?: object }>(schemas)) {
    // The body of a Standard Webhook.
    if (name.endsWith('Notification')) continue;
    t.equal('data' in properties, 'has_more' in properties, `${name}: data is for lists`);
  }
});

t.test('every resource with an address of its own has an id', async (t) => {
  const { operations, schemas } = await read(t);
  const resources = operations
    .filter(({ name }) => /^GET .*\{\w+_id\}(\/outline|\/census|\/pay\w+-\w+)?$/.test(name))
    .map((operation) => nameIn(successOf(operation)[0]?.[JSON_TYPE] as Media) as string);
  t.ok(resources.length >= 8);
  for (const name of resources) {
    if (!SINGLETONS.includes(name) && name !== 'Census')
      t.match(schemas[name].properties.id, { type: 'string' }, name);
  }
});

t.test('every operation has examples, and every JSON body a name', async (t) => {
  const { operations } = await read(t);
  for (const operation of operations) {
    for (const content of [operation.requestBody?.content ?? {}, ...successOf(operation)]) {
      for (const [type, { example }] of Object.entries(content)) {
        // A workbook is no text.
        if (type.startsWith('application/vnd.')) continue;
        t.ok(typeof example === 'string' ? example.trim() : example, `${operation.name} ${type}`);
        const plain = /"\w*(?:_at|_on|date|year|amount|difference)":"text"/.exec(JSON.stringify(example));
        t.equal(plain, null, `${operation.name}: no date, time or amount is "text"`);
      }
    }
    const body = operation.requestBody?.content[JSON_TYPE];
    if (body !== undefined) t.type(body.schema.$ref, 'string', `${operation.name}: its body is a component`);
    t.match(Object.keys(operation.responses).join(), /\b4/, operation.name);
  }
});

const OFFERED = ['application/json', 'text/csv', 'application/x-ndjson'] as const;

t.test('the response has the type that the client prefers', async (t) => {
  const liked: Record<string, string> = {
    '': 'application/json',
    '*/*': 'application/json',
    'text/csv': 'text/csv',
    'TEXT/CSV; charset=utf-8': 'text/csv',
    'text/*': 'text/csv',
    'application/*': 'application/json',
    'application/x-ndjson': 'application/x-ndjson',
    'text/csv, */*': 'text/csv',
    '*/*, text/csv': 'text/csv',
    'text/csv, application/json': 'text/csv',
    'application/json;q=0.5, text/csv;q=0.4': 'application/json',
    'application/json;q=0.4, text/csv;q=0.5': 'text/csv',
    'text/html, application/xhtml+xml, */*;q=0.8': 'application/json',
    'application/json;q=0, */*': 'text/csv',
    'text/html;level=1, text/csv;header=present;q=0.1': 'text/csv',
  };
  for (const [header, type] of Object.entries(liked)) t.equal(negotiated(header, OFFERED), type, header);
  t.equal(negotiated(undefined, OFFERED), 'application/json', 'no header');
});

t.test('an unavailable type is rejected with the available ones', async (t) => {
  for (const header of ['text/html', 'application/xml', 'text/csv;q=0', 'csv', 'text/csv;q=x', ',']) {
    t.throws(() => negotiated(header, OFFERED), {
      code: 'NOT_ACCEPTABLE',
      message: 'This operation responds with application/json or text/csv or application/x-ndjson.',
    });
  }
});

const cursor = cursorOf('fruits', Type.Object({ name: Type.String(), at: Type.Integer() }));

t.test('a cursor encodes any position as text that needs no escaping in a query', async (t) => {
  for (const name of ['', 'ü/🙂 +&=?', '"\\', 'x'.repeat(255)]) {
    const text = cursor.page([], { name, at: 7 }).next_cursor as string;
    t.match(text, /^[A-Za-z0-9_-]+$/);
    t.strictSame(cursor.decode(text), { name, at: 7 });
  }
  t.strictSame(cursor.page([], null), { data: [], has_more: false, next_cursor: null });
  t.equal(cursor.decode(undefined), undefined);
});

t.test('an invalid cursor is rejected by the name of the parameter', async (t) => {
  const other = cursorOf('stones', Type.Object({ name: Type.String(), at: Type.Integer() }));
  const text = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const foreign = {
    'from a different list': other.page([], { name: 'a', at: 1 }).next_cursor as string,
    'from another release': text({ list: 'fruits', at: 1 }),
    'with a position of a wrong kind': text({ list: 'fruits', at: { name: 1, at: 1 } }),
    'with a number beyond the range of the database': text({ list: 'fruits', at: { name: 'a', at: 1e300 } }),
    'with a NUL': text({ list: 'fruits', at: { name: 'a\0', at: 1 } }),
    'with half a surrogate pair': text({ list: 'fruits', at: { name: '\ud800', at: 1 } }),
    'cut short': cursor.page([], { name: 'a', at: 1 }).next_cursor?.slice(0, -6),
    'not base64': '!!!',
    'not JSON': Buffer.from('fruits').toString('base64url'),
    'no object': text(null),
    'a prototype': Buffer.from('{"__proto__":{"list":"fruits"}}').toString('base64url'),
  };
  for (const [name, given] of Object.entries(foreign))
    t.throws(() => cursor.decode(given), { code: 'INVALID_REQUEST', message: /^cursor: / }, name);
});

test('a list rejects a cursor from a different list', async (t, { call, db }) => {
  await deliver(db, [deductionOf('e1', { id: 'd1' }), deductionOf('e2', { id: 'd2' })]);
  const { next_cursor } = (await call({ url: '/v1/deductions?limit=1' })).json;
  t.equal((await call({ url: `/v1/deductions?cursor=${next_cursor}` })).status, 200);
  for (const url of ['/v1/events', '/v1/census-syncs']) {
    const errors = [{ path: 'cursor', rule: /next_cursor/ }];
    t.match(await call({ url: `${url}?cursor=${next_cursor}` }), { status: 400, json: { errors } }, url);
  }
});

/** The formats of JSON Schema 2020-12 and of the OpenAPI format registry that the document uses. */
const STANDARD_FORMATS = ['date', 'date-time', 'email', 'uri', 'binary', 'int32', 'int64', 'double'];

t.test('every format in the reference is a standard one', async (t) => {
  const formats = [...schemasIn(await referenceDocument())].flatMap(({ format }) =>
    typeof format === 'string' ? [format] : [],
  );
  t.ok(formats.includes('date'));
  const unknown = formats.filter((format) => !STANDARD_FORMATS.includes(format));
  t.strictSame([...new Set(unknown)], []);
});
