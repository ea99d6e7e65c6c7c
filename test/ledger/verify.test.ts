import { createDifferences } from '../../src/database/difference.ts';
import { verifyDeductions } from '../../src/ledger/verify-ledger.ts';
import { scratch } from '../database/scratch.ts';
import { onEachEngine } from '../support/engine.ts';
import { incoming, record } from './incoming.ts';

onEachEngine('a version that is recorded while latest states are verified is no difference', async (t) => {
  const { db } = await scratch(t);
  await record(db, [incoming('new', '2026-03-01T12:00:00Z'), incoming('late', '2026-03-01T11:00:00Z')]);
  let statements = 0;
  const recording = db.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      statements += 1;
      if (statements === 1) await record(db, [incoming('newer', '2026-03-01T13:00:00Z')]);
      return result;
    },
  });
  const { report, named } = createDifferences(10);
  await verifyDeductions(recording, { report, looked: () => {}, signal: new AbortController().signal });
  t.strictSame(named, []);
  t.ok(statements > 1, 'the history was read after the latest states');
});
