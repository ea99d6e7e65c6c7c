/**
 * The judge after every fault (docs/security.md lists the promises): what was acknowledged is stored, every event has
 * ended, effects per id are exactly one, positions have no gap, the ledger is what the events say, and no secret lies
 * anywhere.
 */
import { readFileSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import type { Event } from './load.ts';

export type Evidence = {
  databaseFile: string;
  acknowledged: Iterable<Event>;
  /** What must stand in no file of the database and in no output. */
  secrets?: readonly string[];
  outputs?: readonly string[];
};

/** Breaches told at most, of each kind: one is enough to fail. */
const TOLD = 3;

/** What does not hold, in words; nothing when all does. Ask once the inbox has no pending event. */
export function breaches({ databaseFile, acknowledged, secrets = [], outputs = [] }: Evidence): string[] {
  const handle = new BetterSqlite3(databaseFile);
  try {
    const rows = (text: string): Row[] => handle.prepare<[], Row>(text).all();
    // One reading transaction: beside a running sidecar all questions are about the same moment.
    const judge = handle.transaction(() => [
      ...named('is acknowledged and not stored as sent', notStored(handle, acknowledged)),
      ...QUESTIONS.flatMap(([what, text]) => named(what, rows(text))),
      ...named('is a gap in the positions', gaps(rows)),
      ...named('is not what the events say', wrongStates(rows)),
      ...named(
        'is what the engine finds',
        rows('pragma integrity_check').filter(({ integrity_check: found }) => found !== 'ok'),
      ),
    ]);
    return [...judge(), ...leaks(databaseFile, secrets, outputs)];
  } finally {
    handle.close();
  }
}

type Row = Record<string, string | number | null>;

/** Each answers rows where something is wrong. */
const QUESTIONS: readonly (readonly [string, string])[] = [
  ['has not ended', "select event_id from inbox where state = 'pending'"],
  ['is stored twice', 'select event_id from inbox group by event_id having count(*) > 1'],
  ['took effect twice', 'select event_id from versions group by event_id having count(*) > 1'],
  [
    'took effect twice',
    'select event_id from census_syncs where event_id is not null group by event_id having count(*) > 1',
  ],
  [
    'took effect and is not stored',
    'select event_id from versions where event_id not in (select event_id from inbox)',
  ],
  [
    'took effect and is not applied',
    "select event_id from inbox where state <> 'applied' and (event_id in (select event_id from versions) or event_id in (select event_id from census_syncs))",
  ],
  [
    'is applied and took no effect',
    `select event_id from inbox where state = 'applied' and (
       event_type like 'employee.deduction-%' and event_id not in (select event_id from versions)
       or event_type = 'employee-census.sync-request' and event_id not in (select event_id from census_syncs where event_id is not null))`,
  ],
  [
    'is not the greatest of its deduction',
    `select deduction_id, position from deductions where position <> (
       select position from versions where versions.deduction_id = deductions.deduction_id
       order by event_time desc, position desc limit 1)`,
  ],
  [
    'counts its versions wrongly',
    `select deduction_id, versions from deductions where versions <> (
       select count(*) from versions where versions.deduction_id = deductions.deduction_id)`,
  ],
  [
    'has versions and no latest state',
    'select distinct deduction_id from versions where deduction_id not in (select deduction_id from deductions)',
  ],
];

function notStored(handle: BetterSqlite3.Database, acknowledged: Iterable<Event>): string[] {
  const bodyOf = handle.prepare<[string], Buffer>('select body from inbox where event_id = ?').pluck();
  return [...acknowledged]
    .filter(({ id, body }) => bodyOf.get(id)?.toString('utf8') !== body)
    .map(({ id }) => id);
}

/** Versions and roster facts share one row of positions, 1 to the head. */
function gaps(rows: (text: string) => Row[]): string[] {
  const [head] = rows('select position from ledger_head');
  const positions = rows(
    'select position from versions union all select position from roster_facts order by position',
  );
  const wrong = positions.findIndex(({ position }, index) => position !== index + 1);
  if (wrong >= 0) return [`at ${wrong + 1}: ${positions[wrong]?.position}`];
  return positions.length === head?.position ? [] : [`head ${head?.position}, found ${positions.length}`];
}

/** Folds the stored bodies anew, with nothing of the ledger's own code, and compares the latest amounts. */
function wrongStates(rows: (text: string) => Row[]): string[] {
  const events = rows(
    `select body ->> '$.data.id' as id, body ->> '$.data.member_contribution' as amount, body ->> '$.created_at' as at
     from (select cast(body as text) as body, seq from inbox where state = 'applied' and event_type like 'employee.deduction-%')
     order by seq`,
  );
  const latest = new Map<string, { at: number; amount: unknown }>();
  const untimed = new Set<string>();
  for (const { id, amount, at } of events) {
    // Its place hangs on the moment of receipt: the question about the greatest version covers it.
    if (at === null) untimed.add(id as string);
    const time = Date.parse(at as string);
    const known = latest.get(id as string);
    if (known === undefined || time >= known.at) latest.set(id as string, { at: time, amount });
  }
  const states = rows(
    'select deductions.deduction_id as id, member_contribution as amount from deductions join versions using (position)',
  );
  const wrong = states.filter(
    ({ id, amount }) => !untimed.has(id as string) && latest.get(id as string)?.amount !== amount,
  );
  return wrong.map(({ id }) => String(id));
}

/** Where a secret lies in plain bytes. Names the place and never the secret. */
export function leaks(
  databaseFile: string,
  secrets: readonly string[],
  outputs: readonly string[],
): string[] {
  const files = ['', '-wal', '-shm'].map((suffix) => {
    try {
      return { name: `the database${suffix}`, bytes: readFileSync(databaseFile + suffix) };
    } catch {
      return { name: suffix, bytes: Buffer.alloc(0) };
    }
  });
  const places = [
    ...files,
    ...outputs.map((text, index) => ({ name: `output ${index}`, bytes: Buffer.from(text) })),
  ];
  return places.flatMap(({ name, bytes }) =>
    secrets.flatMap((secret, index) => (bytes.includes(secret) ? [`secret ${index} is in ${name}`] : [])),
  );
}

function named(what: string, found: readonly unknown[]): string[] {
  return found.slice(0, TOLD).map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)} ${what}`);
}
