import t from 'tap';
import { TAGS } from '../../src/api/reference-order.ts';
import type { DeclaredRoute } from '../../src/api/route.ts';
import { RunBody } from '../../src/payroll/records/body.ts';
import { referenceDocument } from '../../tools/client-types/reference.ts';
import { type Reference, resolve, start } from './start.ts';

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
  const { paths, tags } = JSON.parse(await referenceDocument()) as {
    paths: Record<string, Record<string, { operationId: string; tags: string[] }>>;
    tags: { name: string }[];
  };
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  const byTag = Map.groupBy(operations, (operation) => operation.tags.join());
  t.strictSame(
    tags.map(({ name }) => name),
    TAGS.map(({ name }) => name),
  );
  for (const { name, operations } of TAGS) {
    const found = byTag.get(name)?.map(({ operationId }) => operationId);
    t.strictSame(found?.toSorted(), operations.toSorted(), name);
  }
});

t.test('the reference is OpenAPI 3.1 and has exactly the routes of the listener', async (t) => {
  const { app, call } = await start(t);
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
  t.ok(
    hidden.every(({ url }) => url.startsWith('/docs')),
    'except the page itself',
  );
});

t.test('every operation has a summary, its scope and its responses', async (t) => {
  const { app, call } = await start(t);
  const reference: Reference = (await call({ url: '/openapi.json' })).json;
  const tags = reference.tags.map((tag: { name: string }) => tag.name);
  const ids = new Set<string>();
  for (const route of app.routeTable.routes.filter(({ hidden }) => !hidden)) {
    const operation = reference.paths[pathOf(route)][(route.methods[0] as string).toLowerCase()];
    const name = `${route.methods[0]} ${route.url}`;
    t.match(
      operation,
      { operationId: /^[a-z][A-Za-z]+$/, summary: /^[A-Z].*[^.]$/, description: /\.$/ },
      name,
    );
    t.ok(operation.tags.length === 1 && tags.includes(operation.tags[0]), `${name}: a known tag`);
    t.notOk(ids.has(operation.operationId), `${name}: a unique id`);
    ids.add(operation.operationId);
    const statuses = Object.keys(operation.responses);
    t.ok(
      statuses.some((status) => status.startsWith('2')),
      `${name}: an answer`,
    );
    for (const status of statuses) t.not(operation.responses[status].description, 'Default Response', name);
    if (route.scope === 'public') t.strictSame(operation.security, [], name);
    else if (route.scope === 'any') t.strictSame(operation.security, [{ bearer: [] }, { basic: [] }]);
    else {
      const isSelf = route.scope === 'self';
      t.strictSame(operation.security, [{ bearer: isSelf ? [] : [route.scope] }], name);
      t.match(operation.description, isSelf ? 'any valid token' : `\`${route.scope}\``);
      for (const status of ['401', '403', '500', '503'])
        t.ok(statuses.includes(status), `${name}: ${status}`);
    }
    const all = resolve(reference, operation.parameters ?? []) as { in: string; name: string }[];
    const parameters = all.filter((one) => one.in === 'path');
    const named = [...pathOf(route).matchAll(/\{(.+?)\}/g)].map(([, parameter]) => parameter);
    t.strictSame(
      parameters.map((one) => one.name),
      named,
      `${name}: its path parameters`,
    );
  }
});

t.test('every reference in the document resolves, and its schemas are JSON Schema', async (t) => {
  const { call } = await start(t);
  const reference: Reference = (await call({ url: '/openapi.json' })).json;
  const whole = resolve(reference, reference);
  const types = ['string', 'integer', 'boolean', 'object', 'array', 'null', 'number', 'http'];
  const schemas = [...schemasIn(whole)].filter(({ type }) => typeof type === 'string' || Array.isArray(type));
  t.strictSame(
    schemas.filter(({ type }) => [type].flat().some((one) => !types.includes(one as string))),
    [],
    'known types',
  );
  const ours = ['nullable', 'x-refuses', '$id'];
  t.strictSame(
    schemas.filter((schema) => typeof schema.rule === 'string' || ours.some((name) => name in schema)),
    [],
    'our own annotations become standard keywords',
  );
  t.ok(schemas.length > 100);
  t.strictSame(Object.keys(reference.components.securitySchemes), ['bearer', 'basic']);
});

t.test('every field of a payroll run, its lines and its parts has a description', async (t) => {
  const { call } = await start(t);
  const { paths, components } = (await call({ url: '/openapi.json' })).json;
  const names = [
    ...['PayrollRun', 'PayrollRunSummary', 'PayrollRunPreview', 'Totals', 'Line'],
    ...['PayrollRunRequest', 'PayrollRunVerification', 'PayrollRunAudit'],
    ...['TakenRow', 'TakenReport', 'AuditedRow', 'PaySchedules', 'PayrollCodes', 'Readiness'],
  ];
  const { schemas } = components;
  for (const name of names) {
    const silent = [...schemasIn(schemas[name])]
      .flatMap(({ properties }) => Object.entries(properties ?? {}))
      .filter(([, field]) => !('$ref' in field) && !field.description);
    t.ok(schemas[name]?.properties, name);
    t.strictSame(
      silent.map(([field]) => field),
      [],
      name,
    );
  }
  t.strictSame(Object.keys(schemas.PayrollRunRequest.properties), Object.keys(RunBody.properties));
  const lines = paths['/v1/payroll-runs/{run_id}/lines'].get.responses['200'].content;
  t.strictSame(Object.keys(lines), ['application/json', 'text/csv', 'application/x-ndjson']);
});

t.test('the listener serves the page and everything it loads', async (t) => {
  const { call } = await start(t);
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
