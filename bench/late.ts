/** `npm run bench -- --late`: the cost of applying an event older than its deduction's latest state. */
import { randomInt, randomUUID } from 'node:crypto';
import { openDatabase } from '../src/database/open.ts';
import type { Db } from '../src/database/tables.ts';
import type { ApplyLoop } from '../src/inbox/apply.ts';
import type { Arrival } from '../src/inbox/inbox.ts';
import type { PostgresServer } from '../test/support/postgres.ts';
import { applyLoop, applyTimed, BATCH_EVENTS } from './applying.ts';
import type { Engine } from './engines.ts';
import { bodyOf } from './events.ts';
import type { Dialect } from './fill.ts';
import { median, type Report, whole } from './report.ts';

/** Versions of the deduction of the late events. */
export const VERSIONS = [1, 1_000, 100_000, 1_000_000];
const ROUNDS = 100;
const WARM_UP_ROUNDS = 20;
const LATE_EVENTS = 10;
/** Many deductions of this length whose events arrive in random order. */
const MANY = { deductions: 400, versions: 200, events: 10_000 };
/** The limit that issue 15 sets. */
const TARGET = 1.5;

type Deduction = { id: string; versions: number };

export async function reportLate(
  report: Report,
  postgres: PostgresServer,
  engines: readonly Engine[],
  sizes: readonly number[],
): Promise<void> {
  for (const engine of engines) {
    report.line(`## ${engine.title}`);
    report.line();
    const database = await engine.fill(fillStatements(deductionsOf(sizes), engine.dialect), postgres);
    const db = openDatabase(database.url);
    try {
      const loop = applyLoop(db);
      reportSizes(report, await measureSizes(db, loop, sizes));
      await reportMany(report, db, loop);
    } finally {
      await db.destroy();
      await database.remove();
    }
  }
}

/**
 * One deduction per size, and a new one of the smallest size per round, because a late event makes it longer.
 */
function deductionsOf(sizes: readonly number[]): Deduction[] {
  const rounds = Array.from({ length: WARM_UP_ROUNDS + ROUNDS }, (_, round) => round);
  return [
    ...sizes.flatMap((versions) =>
      versions === 1
        ? rounds.map((round) => ({ id: idOf(1, round), versions }))
        : { id: idOf(versions, 0), versions },
    ),
    ...Array.from({ length: MANY.deductions }, (_, nth) => ({ id: `many-${nth}`, versions: MANY.versions })),
  ];
}

function idOf(versions: number, round: number): string {
  return versions === 1 ? `late-1-${round}` : `late-${versions}`;
}

/**
 * Each round measures every size, so that drift affects all equally. Returns milliseconds per event, by size.
 */
async function measureSizes(
  db: Db,
  loop: ApplyLoop,
  sizes: readonly number[],
): Promise<Map<number, number[]>> {
  const measured = new Map<number, number[]>(sizes.map((versions) => [versions, []]));
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round += 1) {
    for (const versions of sizes) {
      const late = Array.from({ length: LATE_EVENTS }, () =>
        arrivalOf(idOf(versions, round), randomInt(versions)),
      );
      const ms = await applyTimed(db, loop, late);
      if (round >= WARM_UP_ROUNDS) measured.get(versions)?.push(ms / LATE_EVENTS);
    }
  }
  return measured;
}

function reportSizes(report: Report, measured: ReadonlyMap<number, readonly number[]>): void {
  const [least = 0] = [...measured.values()].map(median);
  report.line(
    `Late events of one deduction, ${LATE_EVENTS} per batch, at the times of random versions. Medians of ${ROUNDS} batches, alternating between the sizes.`,
  );
  report.line();
  report.table(
    ['versions', 'ms per event', 'cost ratio'],
    [...measured].map(([versions, ms]) => [
      whole(versions),
      median(ms).toFixed(3),
      (median(ms) / least).toFixed(2),
    ]),
  );
  report.line(`The last column must be at most ${TARGET}.`);
  report.line();
}

async function reportMany(report: Report, db: Db, loop: ApplyLoop): Promise<void> {
  const { deductions, versions, events } = MANY;
  const rates = { newer: [] as number[], random: [] as number[] };
  for (let sent = 0; sent < events; sent += BATCH_EVENTS) {
    const of = (at: () => number) =>
      Array.from({ length: BATCH_EVENTS }, () => arrivalOf(`many-${randomInt(deductions)}`, at()));
    const rateOf = (ms: number) => (BATCH_EVENTS * 1_000) / ms;
    rates.newer.push(
      rateOf(
        await applyTimed(
          db,
          loop,
          of(() => versions + sent),
        ),
      ),
    );
    rates.random.push(
      rateOf(
        await applyTimed(
          db,
          loop,
          of(() => randomInt(versions + sent)),
        ),
      ),
    );
  }
  report.line(
    `${deductions} deductions with at least ${versions} versions, ${BATCH_EVENTS} events per batch. Medians.`,
  );
  report.line();
  report.table(
    ['created_at', 'applied/s'],
    [
      ['newer than all earlier ones', whole(median(rates.newer))],
      ['random', whole(median(rates.random))],
    ],
  );
}

/** Returns an event at the time of a deduction's version `nth`, counted from 0. */
function arrivalOf(deductionId: string, nth: number): Arrival {
  const body = bodyOf({
    envelopeId: randomUUID(),
    deductionId,
    employeeId: 'emp-late',
    line: 'medical',
    contribution: '120.50',
    createdAt: `2025-06-01T00:00:00.${String(nth).padStart(9, '0')}Z`,
  });
  return { eventId: `msg_${randomUUID()}`, body: Buffer.from(body) };
}

/**
 * Returns the versions of the deductions, one deduction after another, as if their events had arrived in
 * order.
 */
function fillStatements(deductions: readonly Deduction[], { series, decimal }: Dialect): string[] {
  let position = 0;
  const statements = deductions.flatMap(({ id, versions }) => {
    const before = position;
    position += versions;
    const time = (nth: string) => `'2025-06-01T00:00:00.' || ${decimal(nth, 9)} || 'Z'`;
    return [
      `${series(versions)}
       insert into deduction_versions (position, deduction_id, version, previous_position, event_id, employee_id, line_of_coverage,
         member_contribution, employer_contribution, period, taxability, created_at, event_time, ordered_by, late,
         tie_changed, future_dated, moved, recorded_at)
       select ${before} + n, '${id}', n, case when n > 1 then ${before} + n - 1 end, '${id}-' || n, 'emp-late', 'medical',
         '100.50', '350.00', 'monthly', 'pre_tax', ${time('n - 1')}, ${time('n - 1')}, 'created_at', 0,
         0, 0, 0, '2025-06-01T00:01:00.000Z'
       from series`,
      `insert into deductions (deduction_id, position, event_time, employee_id, version_count, last_received_position)
       values ('${id}', ${position}, ${time(`${versions - 1}`)}, 'emp-late', ${versions}, ${position})`,
    ];
  });
  return [...statements, `update ledger_head set position = ${position}`];
}
