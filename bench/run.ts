/**
 * `npm run bench`: how fast events are acknowledged durably and applied, compared with alternatives and with a server that
 * only verifies. Writes docs/internals/benches/results.md, or with `--scale`, `--payroll`, `--changes`, `--operations`, `--late`,
 * `--hostile`, `--items`, `--pages`, `--payday`, `--snapshot` or `--soak` the file of that name. Other flags give a quick look that only prints. README.md describes the
 * comparison.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startPostgres } from '../test/support/postgres.ts';
import { measureAtOnce } from './at-once.ts';
import { BACKLOG, reportChanges } from './changes.ts';
import { reportAtOnce } from './comparison.ts';
import { contendersOf } from './contenders.ts';
import { ENGINES } from './engines.ts';
import { reportHostile } from './hostile.ts';
import { reportLate, VERSIONS } from './late.ts';
import { reportMachine, shareCpuAmongThreads } from './machine.ts';
import { reportOperations, SIZE } from './operations.ts';
import { reportPages } from './pages.ts';
import { DEDUCTIONS, reportPayroll, SIZE_STEP } from './payroll.ts';
import { createReport } from './report.ts';
import { reportPayday, reportScale, SIZES } from './scale.ts';
import { MINUTES, reportSnapshot } from './snapshot.ts';
import { reportSoak, SOAK_MINUTES } from './soak.ts';
import { reportStartAndRest } from './start-and-rest.ts';
import { reportSteady } from './steady.ts';

const { values: flags } = parseArgs({
  options: {
    scale: { type: 'boolean', default: false },
    payroll: { type: 'boolean', default: false },
    changes: { type: 'boolean', default: false },
    operations: { type: 'boolean', default: false },
    late: { type: 'boolean', default: false },
    hostile: { type: 'boolean', default: false },
    items: { type: 'boolean', default: false },
    pages: { type: 'boolean', default: false },
    payday: { type: 'boolean', default: false },
    snapshot: { type: 'boolean', default: false },
    soak: { type: 'boolean', default: false },
    only: { type: 'string' },
    rounds: { type: 'string' },
    sizes: { type: 'string' },
    size: { type: 'string' },
    minutes: { type: 'string' },
  },
});
const rounds = Number(flags.rounds ?? 5);
if (!(rounds >= 1)) throw new Error('--rounds: must be a number from 1');
const {
  scale,
  payroll,
  changes,
  operations,
  late,
  hostile,
  items,
  pages,
  payday,
  snapshot,
  soak,
  ...narrowing
} = flags;
const isQuickLook = Object.values(narrowing).some((flag) => flag !== undefined);
const KINDS = [
  'scale',
  'payroll',
  'changes',
  'operations',
  'late',
  'hostile',
  'items',
  'pages',
  'payday',
  'snapshot',
  'soak',
] as const;
const kind = KINDS.find((name) => flags[name]) ?? 'results';
const TITLES = {
  results: '# Benchmark',
  scale: '# Benchmark: scale',
  payroll: '# Benchmark: payroll',
  changes: '# Benchmark: changes',
  operations: '# Benchmark: operations',
  late: '# Benchmark: late events',
  hostile: '# Benchmark: hostile requests',
  items: '# Benchmark: open items',
  pages: '# Benchmark: pages of the console',
  payday: '# Benchmark: a payday',
  snapshot: '# Benchmark: a held snapshot',
  soak: '# Benchmark: soak',
};

/** Returns the contenders of `--only`, or all. */
function chosen<T extends { name: string }>(all: readonly T[]): T[] {
  const names = flags.only?.split(',') ?? all.map(({ name }) => name);
  const unknown = names.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) {
    throw new Error(`--only: ${unknown} is not one of ${all.map(({ name }) => name).join(', ')}`);
  }
  return all.filter(({ name }) => names.includes(name));
}

/** Deductions of the ledger for `--payroll`. */
function sizeOf(given: string | undefined): number {
  const size = Number(given ?? DEDUCTIONS);
  if (size > 0 && size % SIZE_STEP === 0) return size;
  throw new Error(`--size: must be a multiple of ${SIZE_STEP}`);
}

/**
 * The default of 128 MB fits any machine, but most of the larger ledgers would be read from the disk cache.
 */
const POSTGRES_SETTINGS = ['shared_buffers=1GB'];

shareCpuAmongThreads();
const report = createReport();
const postgres = await startPostgres(POSTGRES_SETTINGS);
try {
  report.line(TITLES[kind]);
  report.line();
  await reportMachine(report, postgres);
  if (payroll) {
    await reportPayroll(report, postgres, chosen(ENGINES), sizeOf(flags.size));
  } else if (changes) {
    const backlog = Number(flags.size ?? BACKLOG);
    await reportChanges(report, postgres, chosen(ENGINES), backlog, rounds);
  } else if (operations) {
    await reportOperations(report, postgres, chosen(ENGINES), Number(flags.size ?? SIZE));
  } else if (late) {
    await reportLate(report, postgres, chosen(ENGINES), flags.sizes?.split(',').map(Number) ?? VERSIONS);
  } else if (hostile) {
    await reportHostile(report, postgres, chosen(ENGINES), rounds);
  } else if (items) {
    // Its support modules load tap, which would end the process after 30 seconds.
    process.env.TAP_TIMEOUT = '0';
    const { ITEM_EMPLOYEES, reportItems } = await import('./open-items.ts');
    await reportItems(report, Number(flags.size ?? ITEM_EMPLOYEES));
  } else if (pages) {
    await reportPages(report, postgres, chosen(ENGINES));
  } else if (payday) {
    await reportPayday(
      report,
      postgres,
      chosen(ENGINES),
      flags.size === undefined ? undefined : Number(flags.size),
    );
  } else if (snapshot) {
    await reportSnapshot(report, postgres, Number(flags.minutes ?? MINUTES));
  } else if (soak) {
    await reportSoak(report, postgres, chosen(ENGINES), Number(flags.minutes ?? SOAK_MINUTES));
  } else if (scale) {
    const sizes = flags.sizes?.split(',').map(Number) ?? SIZES;
    await reportScale(report, postgres, chosen(ENGINES), sizes, rounds);
  } else {
    reportAtOnce(report, await measureAtOnce(chosen(contendersOf(postgres)), rounds), rounds);
    if (!isQuickLook) {
      await reportSteady(report);
      await reportStartAndRest(report);
    }
  }
} finally {
  await postgres.remove();
}
if (!isQuickLook) {
  writeFileSync(new URL(`../docs/internals/benches/${kind}.md`, import.meta.url), report.text());
}
