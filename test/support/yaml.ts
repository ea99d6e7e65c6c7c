/** Reads YAML with the parser of the OpenAPI plugin, so that the tests need no other one. */
import { createRequire } from 'node:module';

const { parseAllDocuments } = createRequire(import.meta.resolve('@fastify/swagger'))('yaml') as {
  parseAllDocuments(text: string, options: { merge: true }): { errors: unknown[]; toJS(): unknown }[];
};

/** Returns all documents of a text. Throws if it is invalid. */
export function parseYaml(text: string): unknown[] {
  return parseAllDocuments(text, { merge: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });
}
