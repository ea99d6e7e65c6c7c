/** The types of `openapi-fetch` from the OpenAPI document. They have the parts of OpenAPI that our schemas use. */

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};
type Reference = { readonly $ref: string };
type Parameter = { name: string; in: string; required?: boolean; description?: string; schema: Schema };
type Content = { readonly content?: Readonly<Record<string, { schema?: Schema }>> };
type Operation = {
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: Content & { required?: boolean };
  readonly responses: Readonly<Record<string, Content | Reference>>;
};
type Components = {
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly responses: Readonly<Record<string, Content>>;
  readonly parameters: Readonly<Record<string, Parameter>>;
};
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: Components;
};
/** A field of a type: its name with `?` if it is optional, its type, and its comment. */
type Field = readonly [name: string, type: string, comment?: string | undefined];

/** Returns the TypeScript of `paths`, `webhooks` (the body of each) and `components`. */
export function clientTypes(document: Document): string {
  const { paths, components } = document;
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]): Field => [quoted(name), typeOf(schema), schema.description],
  );
  const responses = Object.entries(components.responses).map(
    ([name, content]): Field => [quoted(name), contentOf(content)],
  );
  const operations = Object.entries(paths).map(
    ([path, methods]): Field => [quoted(path), fields(methodsOf(methods))],
  );
  const bodies = Object.entries(document.webhooks).map(([type, { post }]): Field => {
    const { schema = {} } = post.requestBody?.content?.['application/json'] ?? {};
    return [quoted(type), typeOf(schema), post.summary];
  });
  return [
    '// Made by `npm run openapi`.',
    `export interface paths ${fields(operations)}`,
    `export interface webhooks ${fields(bodies)}`,
    `export interface components ${fields([
      ['schemas', fields(schemas)],
      ['responses', fields(responses)],
    ])}\n`,
  ].join('\n');

  function methodsOf(methods: Readonly<Record<string, Operation>>): Field[] {
    return Object.entries(methods).map(([method, operation]) => {
      const { summary, description = '', parameters = [], requestBody, responses } = operation;
      const contents = Object.entries(responses).map(
        ([status, content]): Field => [status, '$ref' in content ? typeAt(content) : contentOf(content)],
      );
      const type = fields([
        ['parameters', parametersOf(parameters.map(parameterOf))],
        ...(requestBody ? [field('requestBody', requestBody.required, contentOf(requestBody))] : []),
        ['responses', fields(contents)],
      ]);
      return [method, type, `${summary}. ${description}`.trim()];
    });
  }

  function parameterOf(parameter: Parameter | Reference): Parameter {
    return '$ref' in parameter
      ? (components.parameters[parameter.$ref.split('/').at(-1) ?? ''] as Parameter)
      : parameter;
  }
}

function parametersOf(parameters: readonly Parameter[]): string {
  const places = Object.entries(Object.groupBy(parameters, (parameter) => parameter.in));
  return fields(
    places.map(([place, ofPlace = []]) => {
      const types = ofPlace.map(({ name, required, schema, description }) =>
        field(quoted(name), required, typeOf(schema), description),
      );
      const hasRequired = ofPlace.some(({ required }) => required);
      return field(place, hasRequired, fields(types));
    }),
  );
}

function contentOf({ content }: Content): string {
  if (content === undefined) return '{}';
  const types = Object.entries(content).map(
    ([type, { schema = {} }]): Field => [quoted(type), typeOf(schema)],
  );
  return fields([['content', fields(types)]]);
}

function typeOf(schema: Schema): string {
  const { $ref, type, const: value, enum: values, anyOf, oneOf, allOf } = schema;
  if ($ref !== undefined) return typeAt({ $ref });
  if (value !== undefined) return quoted(value);
  if (values !== undefined) return values.map(quoted).join(' | ');
  const alternatives = [...new Set((anyOf ?? oneOf ?? []).map(typeOf))].join(' | ');
  const ofType = [type ?? []].flat().map((name) => typeNamed(name, schema));
  const parts = [ofType.join(' | '), alternatives, ...(allOf ?? []).map(typeOf)];
  // A part that only requires fields of another part restricts no type.
  const restricting = parts.filter((part) => part !== '' && part !== 'unknown');
  if (restricting.length > 1) return restricting.map((part) => `(${part})`).join(' & ');
  return restricting[0] ?? 'unknown';
}

function typeNamed(name: string, { items = {}, properties, required = [] }: Schema): string {
  if (name === 'integer') return 'number';
  if (name === 'array') return `Array<${typeOf(items)}>`;
  if (name !== 'object') return name;
  if (properties === undefined) return 'Record<string, unknown>';
  const types = Object.entries(properties).map(([property, schema]) =>
    field(quoted(property), required.includes(property), typeOf(schema), schema.description),
  );
  return fields(types);
}

/** Returns the type of a component, such as that of `#/components/schemas/Deduction`. */
function typeAt({ $ref }: Reference): string {
  const [, components, kind, name] = $ref.split('/');
  return `${components}["${kind}"]["${name}"]`;
}

function field(name: string, isRequired = false, type: string, comment?: string): Field {
  return [isRequired ? name : `${name}?`, type, comment];
}

/** Returns an object type. */
function fields(all: readonly Field[]): string {
  const lines = all.map(([name, type, comment]) => {
    const text = comment === undefined ? '' : `/** ${comment.replaceAll('*/', '* /')} */\n`;
    return `${text}${name}: ${type};`;
  });
  return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n}`;
}

function quoted(value: unknown): string {
  return JSON.stringify(value);
}
