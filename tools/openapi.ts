/** Writes openapi.json, and the client's types to src/client-types.ts. `npm run openapi` runs it. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { clientTypes } from './client-types.ts';
import { referenceDocument } from './reference.ts';

const document = await referenceDocument();
const write = (path: string, text: string): void =>
  writeFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), text);
write('openapi.json', `${JSON.stringify(document, null, 2)}\n`);
write('src/client-types.ts', clientTypes(document));
