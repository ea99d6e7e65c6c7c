/** Checks that roster facts from employment changes match a change. */
import { pagesOf, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';
import { factSources } from '../ledger/roster.ts';
import { type Fingerprint, fingerprintsOf } from '../outbox/requests.ts';

/** Facts read at once. */
const ROWS_AT_ONCE = 2_000;

/** Checks roster facts against their requests. Altered dates go undetected: contents are not kept. */
export async function verifyFacts(db: Db, until: number, on: Verifying): Promise<void> {
  const page = (after: number) => factSources(db, after, until, ROWS_AT_ONCE);
  for await (const facts of pagesOf(on, 0, ROWS_AT_ONCE, page, (fact) => fact.position)) {
    const ids = facts.map((fact) => fact.source_id);
    const requests = await fingerprintsOf(db, ids);
    for (const fact of facts) verifyOne(fact, requests.get(fact.source_id), on);
  }
}

type Fact = Awaited<ReturnType<typeof factSources>>[number];

function verifyOne(fact: Fact, request: Fingerprint | undefined, { report }: Verifying): void {
  const wrong = (field: string, rule: string) => report('roster_facts', fact.position, field, rule);
  if (fact.source === 'census') {
    if (request !== undefined) wrong('source', 'is not the kind of the request that it names');
    return;
  }
  if (request === undefined) wrong('source_id', 'there is no such request');
  else if (request.kind !== fact.source) wrong('source', 'is not the kind of the request that it names');
  else if (request.subject_id !== fact.employee_id) {
    wrong('employee_id', 'is not the employee of the request that it names');
  } else if (fact.recorded_at !== request.created_at) {
    wrong('recorded_at', 'is not when its request was accepted');
  }
}
