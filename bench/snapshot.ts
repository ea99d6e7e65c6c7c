/**
 * `npm run bench -- --snapshot`: whether applying events on PostgreSQL slows down while another transaction keeps an old
 * snapshot open, as `pg_dump` does: dead rows and index entries cannot be removed until it ends.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { openDatabase } from '../src/database/open.ts';
import type { Db } from '../src/database/tables.ts';
import type { ApplyLoop } from '../src/inbox/apply.ts';
import { storeBatch } from '../src/inbox/inbox.ts';
import type { PostgresServer } from '../test/support/postgres.ts';
import { applyLoop, applyTimed } from './applying.ts';
import type { Scratch } from './databases.ts';
import { ENGINES } from './engines.ts';
import { prepareArrivals } from './events.ts';
import { median, type Report, whole } from './report.ts';

export const MINUTES = 30;
const PER_SECOND = 200;
/** At this rate the apply loop makes batches as small, which create as many row versions. */
const TICK_MS = 10;
const BURSTS_A_MINUTE = 5;
const BURST_EVENTS = 1_000;
const STORED_AT_ONCE = 100;
const MINUTE_MS = 60_000;
const WARM_UP_MS = 10_000;
/** The limit that issue 15 sets. */
const TARGET = 0.9;

/** Server counters: pages read of a table, cached or not, and entries read of the index of pending events. */
const COUNTED = {
  'pages of inbox': statio('inbox'),
  'pages of ledger_head': statio('ledger_head'),
  'entries of inbox_pending':
    "select idx_tup_read from pg_stat_user_indexes where indexrelname = 'inbox_pending'",
} as const;
type Counted = Record<keyof typeof COUNTED, number>;
type Minute = { batchMs: number[]; burstRates: number[]; touched: Counted };

export async function reportSnapshot(
  report: Report,
  postgres: PostgresServer,
  minutes: number,
): Promise<void> {
  const engine = ENGINES.find(({ name }) => name === 'postgres') as (typeof ENGINES)[number];
  const database = await engine.fill([], postgres);
  const db = openDatabase(database.url);
  const holder = new Client(database.url);
  await holder.connect();
  try {
    const loop = applyLoop(db);
    await steady(db, loop, WARM_UP_MS, []);
    await holder.query('begin isolation level repeatable read');
    await holder.query('select count(*) from inbox');
    const measured: Minute[] = [];
    for (let minute = 0; minute < minutes; minute += 1) {
      measured.push(await measureMinute(db, loop, database));
      const { batchMs, burstRates } = measured[minute] as Minute;
      process.stderr.write(
        `minute ${minute + 1}: ${median(batchMs).toFixed(2)} ms per batch, ${whole(median(burstRates))}/s in bursts\n`,
      );
    }
    reportMinutes(report, measured);
  } finally {
    await holder.end();
    await db.destroy();
    await database.remove();
  }
}

async function measureMinute(db: Db, loop: ApplyLoop, database: Scratch): Promise<Minute> {
  const batchMs: number[] = [];
  const burstRates: number[] = [];
  const before = await counted(database);
  for (let burst = 0; burst < BURSTS_A_MINUTE; burst += 1) {
    burstRates.push(await applyBurst(db, loop));
    await steady(db, loop, MINUTE_MS / BURSTS_A_MINUTE, batchMs);
  }
  const after = await counted(database);
  const bursts = BURSTS_A_MINUTE * Math.ceil(BURST_EVENTS / 512);
  const names = Object.keys(COUNTED) as (keyof Counted)[];
  const each = names.map((name) => [name, (after[name] - before[name]) / (batchMs.length + bursts)]);
  return { batchMs, burstRates, touched: Object.fromEntries(each) as Counted };
}

/** Stores the due events, applies them, and records the time; at most once per `TICK_MS`. */
async function steady(db: Db, loop: ApplyLoop, ms: number, batchMs: number[]): Promise<void> {
  const arrivals = prepareArrivals((PER_SECOND * ms) / 1_000);
  const began = performance.now();
  for (let sent = 0; sent < arrivals.length; ) {
    await delay(TICK_MS);
    const due = arrivals.slice(sent, Math.floor(((performance.now() - began) * PER_SECOND) / 1_000));
    if (due.length === 0) continue;
    batchMs.push(await applyTimed(db, loop, due));
    sent += due.length;
  }
}

/** Events applied per second with many pending at once. */
async function applyBurst(db: Db, loop: ApplyLoop): Promise<number> {
  const arrivals = prepareArrivals(BURST_EVENTS);
  for (let from = 0; from < BURST_EVENTS; from += STORED_AT_ONCE) {
    await storeBatch(db, arrivals.slice(from, from + STORED_AT_ONCE), new Date().toISOString());
  }
  const began = performance.now();
  for (let applied = 0; applied < BURST_EVENTS; ) {
    loop.wake(BURST_EVENTS);
    applied += (await loop.runOnce()).applied;
  }
  return (BURST_EVENTS * 1_000) / (performance.now() - began);
}

function statio(table: string): string {
  return `select heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read from pg_statio_user_tables where relname = '${table}'`;
}

async function counted(database: Scratch): Promise<Counted> {
  // The server's processes report their counts at most once a second.
  await delay(1_500);
  const values: [string, number][] = [];
  for (const [name, statement] of Object.entries(COUNTED)) {
    values.push([name, await database.number(statement)]);
  }
  return Object.fromEntries(values) as Counted;
}

function reportMinutes(report: Report, measured: readonly Minute[]): void {
  const [first, last] = [measured[0] as Minute, measured.at(-1) as Minute];
  const names = Object.keys(COUNTED) as (keyof Counted)[];
  const p99 = (values: readonly number[]) =>
    values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)];
  const row = (name: string, { batchMs, burstRates, touched }: Minute) => [
    name,
    whole(median(burstRates)),
    median(batchMs).toFixed(2),
    (p99(batchMs) ?? 0).toFixed(1),
    ...names.map((counted) => touched[counted].toFixed(0)),
  ];
  report.line(
    `A transaction holds a snapshot for ${measured.length} minutes while ${PER_SECOND} events/s are applied in small batches, and ${BURSTS_A_MINUTE} times a minute ${whole(BURST_EVENTS)} at once.`,
  );
  report.line();
  report.table(
    [
      'minute',
      'burst, events/s',
      'small batch, p50 ms',
      'p99 ms',
      ...names.map((name) => `${name} per batch`),
    ],
    measured
      .map((minute, index) => row(String(index + 1), minute))
      .filter((_, index) => index === 0 || (index + 1) % 5 === 0 || index === measured.length - 1),
  );
  const rate = median(last.burstRates) / median(first.burstRates);
  report.line(
    `Apply rate of the last minute divided by the rate of the first minute: ${rate.toFixed(2)}; required: at least ${TARGET}.`,
  );
  report.line();
}
