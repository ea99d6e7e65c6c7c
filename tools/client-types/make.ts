/**
 * Writes src/client-types.ts, the client's types, from the OpenAPI document. Run by `npm run client-types`.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referenceDocument, sha256 } from './reference.ts';

const GENERATOR = fileURLToPath(new URL('./node_modules/openapi-typescript/bin/cli.js', import.meta.url));
const TYPES = fileURLToPath(new URL('../../src/client-types.ts', import.meta.url));

const document = await referenceDocument();
const folder = mkdtempSync(join(tmpdir(), 'benefits-sidecar-types-'));
try {
  const [input, output] = [join(folder, 'openapi.json'), join(folder, 'types.ts')];
  // The examples are for the reference; in the types they would be long comments.
  const withoutExamples = JSON.parse(document, function (this: object, name: string, value: unknown) {
    return name === 'example' && 'schema' in this ? undefined : value;
  });
  writeFileSync(input, JSON.stringify(withoutExamples));
  // A field with a default may be omitted in a request, and an object with any fields is not an empty one.
  const options = ['--output', output, '--default-non-nullable', 'false', '--empty-objects-unknown'];
  execFileSync(process.execPath, [GENERATOR, input, ...options], { stdio: ['ignore', 'ignore', 'inherit'] });
  const head = [
    '// Made by `npm run client-types` from the OpenAPI document, never by hand.',
    `// SHA-256 of the document: ${sha256(document)}`,
  ];
  // An absent field means the same as one of type never.
  const types = readFileSync(output, 'utf8').replaceAll(/^ +\w+\?: never;\n/gm, '');
  writeFileSync(TYPES, `${head.join('\n')}\n\n${types}`);
} finally {
  rmSync(folder, { recursive: true });
}
