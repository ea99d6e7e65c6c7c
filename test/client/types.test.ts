/** The client's types match the API. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { referenceDocument, sha256 } from '../../tools/client-types/reference.ts';

t.test('the types were generated from the current API document', async (t) => {
  const types = readFileSync(new URL('../../src/client-types.ts', import.meta.url), 'utf8');
  const [, madeFrom] = /^\/\/ SHA-256 of the document: ([0-9a-f]{64})$/m.exec(types) ?? [];
  t.equal(madeFrom, sha256(await referenceDocument()), 'the API has changed: run npm run client-types');
});
