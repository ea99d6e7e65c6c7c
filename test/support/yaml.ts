/** Reads YAML by the parser that the OpenAPI plugin brings: the tests need none of their own. */
import { createRequire } from 'node:module';

const { parseAllDocuments } = createRequire(import.meta.resolve('@fastify/swagger'))('yaml') as {
  parseAllDocuments(text: string, options: { merge: true }): { errors: unknown[]; toJS(): unknown }[];
};

/** All documents of a text. Throws what is wrong with it. */
export function parseYaml(text: string): unknown[] {
  return parseAllDocuments(text, { merge: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });
}
