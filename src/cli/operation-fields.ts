/** The options and arguments of a command, from the schemas of its operation, and the input that they name. */
import { Option } from 'commander';
import type { Operation } from '../api/operation.ts';
import { instant, several, truth } from './arguments.ts';

/** A field of an operation that is an option or an argument of its command. */
export type Field = {
  readonly name: string;
  readonly part: 'params' | 'query' | 'body';
  readonly schema: Readonly<Record<string, unknown>>;
  readonly isRequired: boolean;
  /** `--employer <id>`, or `<event-id>` of an argument. */
  readonly flags: string;
  /** `employer`, as Commander names the option's value, or `eventId`. */
  readonly attribute: string;
};

/** The params that are arguments, and the flags of fields whose own name is not the best one. */
type Flagged = { readonly arguments?: readonly string[]; readonly flags?: Readonly<Record<string, string>> };

/** Returns the fields of an operation that have one value each, in the order of its schemas. */
export function fieldsOf(op: Partial<Operation>, words: Flagged): Field[] {
  return (['params', 'query', 'body'] as const).flatMap((part) => {
    const { properties = {}, required = [] } = (op[part] ?? {}) as {
      properties?: Record<string, Field['schema']>;
      required?: string[];
    };
    return Object.entries(properties).map(([name, schema]) => {
      const isArgument = words.arguments?.includes(name) === true;
      const flag = words.flags?.[name] ?? flagsOf(name, schema, part === 'query' && op.method === 'GET');
      const flags = isArgument ? `<${name.replaceAll('_', '-')}>` : flag;
      const attribute = attributeOf(isArgument ? name.replaceAll('_', '-') : flag.slice(2));
      return { name, part, schema, isRequired: required.includes(name), flags, attribute };
    });
  });
}

/** Returns the name of an argument or an option as Commander names its value. */
export function attributeOf(name: string): string {
  return new Option(`--${name}`).attributeName();
}

/** A filter has three states: true, false and without it. */
function flagsOf(name: string, { type, format }: Field['schema'], isFilter: boolean): string {
  const flag = `--${name.replace(/_id$/, '').replaceAll('_', '-')}`;
  if (type === 'boolean') return isFilter ? `${flag} <true|false>` : flag;
  const value = /_id$/.test(name)
    ? 'id'
    : type === 'integer'
      ? 'number'
      : format === 'date'
        ? 'date'
        : format === 'instant'
          ? 'time'
          : name.split('_').at(-1);
  return `${flag} <${value}>`;
}

export type Requirement = 'required' | 'required without a file' | null;

export function optionOf({ flags, schema }: Field, text: string, requirement: Requirement): Option {
  const option = new Option(flags, requirement === null ? text : `${text} (${requirement})`);
  if (requirement === 'required') option.makeOptionMandatory();
  if (Array.isArray(schema.enum)) option.choices(schema.enum as string[]);
  if (schema.format === 'instant') option.argParser(instant);
  if (schema.type === 'array') option.argParser(several((item) => item));
  if (flags.endsWith(' <true|false>')) option.argParser(truth);
  if (schema.default !== undefined) option.default(schema.default);
  return option;
}

/** The parts of an input that options name. */
export type Named = Record<Field['part'], object>;

/** Numbers of a body are texts on a command line. */
export function namedBy(fields: readonly Field[], options: Readonly<Record<string, unknown>>): Named {
  const input = { params: {}, query: {}, body: {} } as Record<Field['part'], Record<string, unknown>>;
  for (const { name, part, schema, attribute } of fields) {
    const value = options[attribute];
    if (value === undefined) continue;
    const isNumber = part === 'body' && schema.type === 'integer' && /^-?\d{1,15}$/.test(String(value));
    input[part][name] = isNumber ? Number(value) : value;
  }
  return input;
}
