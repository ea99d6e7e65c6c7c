/** Checks that versions, roster facts and start decisions share positions without gaps, and that the roster points at its newest facts. */
import { sql } from 'kysely';
import { pagesOf, type Verifying } from '../database/difference.ts';
import type { Db } from '../database/tables.ts';

/** Positions counted at once: a few milliseconds. */
const POSITIONS_AT_ONCE = 20_000;
/** Roster rows compared at once. */
const ROSTER_AT_ONCE = 5_000;
/** The most rows reported that have no fact. */
const NAMED = 1_000;

/** Returns the newest position, and checks that it is the newest one stored. */
export async function ledgerHead(db: Db, { report }: Pick<Verifying, 'report'>): Promise<number> {
  const { rows } = await sql<{ head: number; newest: number }>`
    select ledger_head.position as head,
      (select coalesce(max(position), 0) from (
        select max(position) as position from deduction_versions union all select max(position) from roster_facts
        union all select max(position) from start_decisions) as newest
      ) as newest
    from ledger_head`.execute(db);
  const { head, newest } = rows[0] as { head: number; newest: number };
  if (Number(head) !== Number(newest)) {
    report('ledger_head', '1', 'position', 'is not the newest position');
  }
  return Math.max(Number(head), Number(newest));
}

/** Checks that every position up to this one belongs to exactly one version, roster fact or start decision. */
export async function verifyPositions(db: Db, until: number, on: Verifying): Promise<void> {
  for (let after = 0; after < until; after += POSITIONS_AT_ONCE) {
    on.signal.throwIfAborted();
    const last = Math.min(after + POSITIONS_AT_ONCE, until);
    const { rows } = await sql<{ distinct: number; all: number }>`
      select count(distinct position) as "distinct", count(*) as "all"
      from (${positionsIn(after, last)}) as found`.execute(db);
    const counted = rows[0] as { distinct: number; all: number };
    const expected = last - after;
    if (Number(counted.all) !== expected || Number(counted.distinct) !== expected)
      await name(db, after, last, on);
  }
}

function positionsIn(after: number, last: number) {
  return sql`select position from deduction_versions where position > ${after} and position <= ${last}
    union all select position from roster_facts where position > ${after} and position <= ${last}
    union all select position from start_decisions where position > ${after} and position <= ${last}`;
}

async function name(db: Db, after: number, last: number, { report }: Verifying): Promise<void> {
  const { rows } = await sql<{ position: number }>`${positionsIn(after, last)}`.execute(db);
  const seen = new Map<number, number>();
  for (const { position } of rows) seen.set(position, (seen.get(position) ?? 0) + 1);
  for (let position = after + 1; position <= last; position += 1) {
    const times = seen.get(position) ?? 0;
    if (times === 1) continue;
    const rule = times === 0 ? 'is missing' : 'belongs to several rows';
    report('deduction_versions', position, 'position', rule);
  }
}

/** Checks that the roster points at the newest fact of each employment and is complete. */
export async function verifyRoster(db: Db, on: Verifying): Promise<number> {
  let facts = 0;
  const first = { employee_id: '', employer_id: '' };
  const page = (after: typeof first) => newestFacts(db, after);
  for await (const rows of pagesOf(on, first, ROSTER_AT_ONCE, page, (row) => row)) {
    for (const row of rows) {
      facts += Number(row.facts);
      if (row.position === row.newest) continue;
      const rule = 'is not that of the newest fact';
      on.report('roster', `${row.employee_id}/${row.employer_id}`, 'position', rule);
    }
  }
  await verifyNothingElse(db, on);
  return facts;
}

type NewestFact = {
  employee_id: string;
  employer_id: string;
  newest: number;
  position: number | null;
  facts: number;
};

async function newestFacts(db: Db, after: Pick<NewestFact, 'employee_id' | 'employer_id'>) {
  const { rows } = await sql<NewestFact>`
    select newest.employee_id, newest.employer_id, newest, newest.facts, roster.position
    from (
      select employee_id, employer_id, max(position) as newest, count(*) as facts from roster_facts
      where (employee_id, employer_id) > (${after.employee_id}, ${after.employer_id})
      group by employee_id, employer_id order by employee_id, employer_id limit ${ROSTER_AT_ONCE}) as newest
    left join roster on roster.employee_id = newest.employee_id and roster.employer_id = newest.employer_id
    order by newest.employee_id, newest.employer_id`.execute(db);
  return rows;
}

/** Reports roster rows without a fact. */
async function verifyNothingElse(db: Db, { report }: Verifying): Promise<void> {
  const rows = await db
    .selectFrom('roster')
    .leftJoin('roster_facts', 'roster_facts.position', 'roster.position')
    .select(['roster.employee_id', 'roster.employer_id'])
    .where((where) =>
      where.or([
        where('roster_facts.employee_id', 'is', null),
        where('roster_facts.employee_id', '<>', where.ref('roster.employee_id')),
        where('roster_facts.employer_id', '<>', where.ref('roster.employer_id')),
      ]),
    )
    .orderBy('roster.employee_id')
    .orderBy('roster.employer_id')
    .limit(NAMED)
    .execute();
  for (const { employee_id, employer_id } of rows) {
    report('roster', `${employee_id}/${employer_id}`, 'employee_id', 'there is no such fact');
  }
}
