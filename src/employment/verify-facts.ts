/** Checks that roster facts from employment changes match a change. */
import { pagesOf, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { factSources } from '../ledger/roster.ts';
import { fingerprintsOf } from '../outbox/requests.ts';

/** Facts read at once. */
const ROWS_AT_ONCE = 2_000;

/** Checks roster facts against their requests. Altered dates go undetected: contents are not kept. */
export async function verifyFacts(db: Db, until: number, on: Verifying): Promise<void> {
  const page = (after: number) => factSources(db, after, until, ROWS_AT_ONCE);
  for await (const facts of pagesOf(on, 0, ROWS_AT_ONCE, page, (fact) => fact.position)) {
    const requests = await fingerprintsOf(
      db,
      facts.map((fact) => fact.source_id),
    );
    for (const { position, source, source_id, employee_id, recorded_at } of facts) {
      const wrong = (field: string, rule: string) => on.report('roster_facts', position, field, rule);
      const request = requests.get(source_id);
      if (request === undefined) {
        if (source !== 'census') wrong('source_id', 'there is no such request');
      } else if (source !== request.kind || source === 'census') {
        wrong('source', 'is not the kind of the request that it names');
      } else if (request.subject_id !== employee_id) {
        wrong('employee_id', 'is not the employee of the request that it names');
      } else if (recorded_at !== request.created_at) {
        wrong('recorded_at', 'is not when its request was accepted');
      }
    }
  }
}
