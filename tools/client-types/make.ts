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
  writeFileSync(input, document);
  // A field with a default may be omitted in a request, and an object with any fields is not an empty one.
  const options = ['--output', output, '--default-non-nullable', 'false', '--empty-objects-unknown'];
  execFileSync(process.execPath, [GENERATOR, input, ...options], { stdio: ['ignore', 'ignore', 'inherit'] });
  const head = [
    '// Made by `npm run client-types` from the OpenAPI document, never by hand.',
    `// SHA-256 of the document: ${sha256(document)}`,
  ];
  writeFileSync(TYPES, `${head.join('\n')}\n\n${readFileSync(output, 'utf8')}`);
} finally {
  rmSync(folder, { recursive: true });
}
