/**
 * Checks the promises (docs/internals/promises.md) after every fault: acknowledged events are stored, every event has
 * ended, effects per id are exactly one, positions have no gap, the ledger matches the events, and no secret
 * is stored anywhere. It reads the tables without the code that filled them, in the same way on both engines.
 */
import { createHash } from 'node:crypto';
import { CompiledQuery, sql } from 'kysely';
import { engineOf } from '../../src/database/engine.ts';
import { openDatabase } from '../../src/database/open.ts';
import type { Trx } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { leaks } from './leaks.ts';
import type { Event } from './load.ts';

type Evidence = {
  databaseUrl: string;
  acknowledged: Iterable<Event>;
  /** The first body sent under each id, for events whose body retention dropped. */
  sent?: ReadonlyMap<string, Event>;
  /** Texts that must not be in the database or in any output. */
  secrets?: readonly string[];
  outputs?: readonly string[];
};

/** The maximum number of breaches reported of each kind. */
const SHOWN = 3;

/** Returns the broken promises as sentences. Call it once the inbox has no pending event. */
export async function breaches(evidence: Evidence): Promise<string[]> {
  const { databaseUrl, acknowledged, sent = new Map(), secrets = [], outputs = [] } = evidence;
  const db = openDatabase(databaseUrl);
  try {
    // One transaction, so that all queries see the same moment while sidecars run.
    const found = await transact(db, async (trx) => {
      await seeOneMoment(trx);
      return [
        ...named('is acknowledged and not stored as sent', await notStored(trx, acknowledged, sent)),
        ...(await answersOf(trx)),
        ...named('is a gap in the positions', await gaps(trx)),
        ...named('differs from the events', await wrongStates(trx, sent)),
        ...named('is reported by the engine', await damages(trx)),
      ];
    });
    return [...found, ...(await leaks(databaseUrl, secrets, outputs))];
  } finally {
    await db.destroy();
  }
}

type Row = Record<string, string | number | null>;

/** Each query returns rows that break a rule. */
const QUESTIONS: readonly (readonly [string, string])[] = [
  ['has not ended', "select event_id from inbox where state = 'pending'"],
  ['is stored twice', 'select event_id from inbox group by event_id having count(*) > 1'],
  ['took effect twice', 'select event_id from deduction_versions group by event_id having count(*) > 1'],
  [
    'took effect twice',
    'select event_id from census_syncs where event_id is not null group by event_id having count(*) > 1',
  ],
  [
    'took effect and is not stored',
    'select event_id from deduction_versions where event_id not in (select event_id from inbox)',
  ],
  [
    'took effect and is not applied',
    "select event_id from inbox where state <> 'applied' and (event_id in (select event_id from deduction_versions) or event_id in (select event_id from census_syncs))",
  ],
  [
    'is applied and took no effect',
    `select event_id from inbox where state = 'applied' and (
       event_type like 'employee.deduction-%' and event_id not in (select event_id from deduction_versions)
       or event_type = 'employee-census.sync-request' and event_id not in (select event_id from census_syncs where event_id is not null))`,
  ],
  [
    'is not the greatest of its deduction',
    `with ranked as (
       select deduction_id, position,
         row_number() over (partition by deduction_id order by event_time desc, position desc) as place
       from deduction_versions)
     select deduction_id, deductions.position from deductions join ranked using (deduction_id)
     where place = 1 and ranked.position <> deductions.position`,
  ],
  [
    'counts its versions wrongly',
    `select deduction_id, version_count from deductions
     join (select deduction_id, count(*) as counted from deduction_versions group by deduction_id) as found using (deduction_id)
     where version_count <> counted`,
  ],
  [
    'has versions and no latest state',
    'select distinct deduction_id from deduction_versions where deduction_id not in (select deduction_id from deductions)',
  ],
  [
    'has a latest state and no versions',
    'select deduction_id from deductions where deduction_id not in (select deduction_id from deduction_versions)',
  ],
];

async function answersOf(trx: Trx): Promise<string[]> {
  const answers: string[] = [];
  for (const [what, text] of QUESTIONS) answers.push(...named(what, await rows(trx, text)));
  return answers;
}

type Sent = ReadonlyMap<string, Event>;

async function notStored(trx: Trx, acknowledged: Iterable<Event>, sent: Sent): Promise<string[]> {
  const stored = await trx.selectFrom('inbox').select(['event_id', 'body', 'body_hash']).execute();
  const bodies = new Map(stored.map((row) => [row.event_id, bodyOf(row, sent)]));
  return [...acknowledged].filter(({ id, body }) => bodies.get(id) !== body).map(({ id }) => id);
}

/** Returns the text of a body. Of a dropped one, the sent text that has its hash. */
function bodyOf(
  row: { event_id: string; body: Uint8Array | null; body_hash: Uint8Array | null },
  sent: Sent,
): string {
  if (row.body !== null) return String(row.body);
  const body = sent.get(row.event_id)?.body ?? '';
  const hash = createHash('sha256').update(body).digest();
  return row.body_hash !== null && hash.equals(row.body_hash) ? body : '';
}

/** Versions, roster facts and assignments share one row of positions, 1 to the head. */
async function gaps(trx: Trx): Promise<string[]> {
  const [head] = await rows(trx, 'select position from ledger_head');
  const positions = await rows(
    trx,
    `select position from deduction_versions union all select position from roster_facts
     union all select position from deduction_assignments order by position`,
  );
  const wrong = positions.findIndex(({ position }, index) => position !== index + 1);
  if (wrong >= 0) return [`at ${wrong + 1}: ${positions[wrong]?.position}`];
  return positions.length === head?.position ? [] : [`head ${head?.position}, found ${positions.length}`];
}

/** Computes the latest amounts from the stored bodies, without the ledger's own code, and compares them. */
async function wrongStates(trx: Trx, sent: Sent): Promise<string[]> {
  const events = await trx
    .selectFrom('inbox')
    .select(['event_id', 'body', 'body_hash'])
    .where('state', '=', 'applied')
    .where('event_type', 'like', 'employee.deduction-%')
    .orderBy('seq')
    .execute();
  const latest = new Map<string, { at: number; amount: unknown }>();
  const untimed = new Set<string>();
  for (const event of events) {
    const body = bodyOf(event, sent);
    if (body === '') return [`${event.event_id}, whose body does not have its hash,`];
    const { data, created_at } = JSON.parse(body);
    // Its order depends on the time of receipt, which the query for the greatest version checks.
    if (created_at === undefined) untimed.add(data.id);
    const at = Date.parse(created_at);
    const known = latest.get(data.id);
    if (known === undefined || at >= known.at) latest.set(data.id, { at, amount: data.member_contribution });
  }
  const states = await rows(
    trx,
    'select deductions.deduction_id as id, member_contribution as amount from deductions join deduction_versions using (position)',
  );
  const wrong = states.filter(
    ({ id, amount }) => !untimed.has(id as string) && latest.get(id as string)?.amount !== amount,
  );
  return wrong.map(({ id }) => String(id));
}

function named(what: string, found: readonly unknown[]): string[] {
  return found.slice(0, SHOWN).map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)} ${what}`);
}

async function rows(trx: Trx, text: string): Promise<Row[]> {
  return (await trx.executeQuery<Row>(CompiledQuery.raw(text))).rows;
}

/** On PostgreSQL each statement would see the newest rows; on SQLite a transaction sees one moment. */
async function seeOneMoment(trx: Trx): Promise<void> {
  if (engineOf(trx) === 'postgres') await sql`set transaction isolation level repeatable read`.execute(trx);
}

/** Returns the result of SQLite's integrity check. PostgreSQL's files belong to the server. */
async function damages(trx: Trx): Promise<unknown[]> {
  if (engineOf(trx) === 'postgres') return [];
  const found = await rows(trx, 'pragma integrity_check');
  return found.map((row) => row.integrity_check).filter((text) => text !== 'ok');
}
