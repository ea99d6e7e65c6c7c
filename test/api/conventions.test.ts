import t from 'tap';
import { type Reference, resolve, start } from './start.ts';

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
    for (const field of ['data', 'has_more', 'next_cursor'])
      t.ok(required.includes(field), `${list}.${field}`);
    t.match(properties.has_more, { type: 'boolean' }, list);
    const row = properties.data.items.$ref.split('/').at(-1);
    if (!WITHOUT_ID.includes(row))
      t.match(schemas[row].properties.id, { type: 'string' }, `${list} of ${row}`);
  }
  for (const [name, { properties = {} }] of Object.entries<{ properties?: object }>(schemas))
    t.equal('data' in properties, 'has_more' in properties, `${name}: data is for lists`);
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
      for (const [type, { example }] of Object.entries(content))
        t.not(example, undefined, `${operation.name} ${type}`);
    }
    const body = operation.requestBody?.content[JSON_TYPE];
    if (body !== undefined) t.type(body.schema.$ref, 'string', `${operation.name}: its body is a component`);
    t.ok(
      Object.keys(operation.responses).some((status) => status.startsWith('4')),
      operation.name,
    );
  }
});

t.test('examples contain no placeholder', async (t) => {
  const { reference, operations } = await read(t);
  const leaves = (value: unknown): unknown[] =>
    typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [value];
  for (const operation of operations) {
    const contents = [operation.requestBody?.content ?? {}, ...successOf(operation)];
    const examples = contents.flatMap((content) => Object.values(content).map(({ example }) => example));
    t.notOk(leaves(examples).includes('text'), operation.name);
  }
  t.ok(resolve(reference, reference));
});
