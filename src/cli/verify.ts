import { readDataKeys } from '../config.ts';
import { createDifferences, type Differences } from '../database/difference.ts';
import type { Environment } from '../environment.ts';
import { createEncryptor, type Encryptor } from '../security/encryption.ts';
import type { Context } from './context.ts';
import { withDatabase } from './database.ts';
import { ifStopped } from './failure.ts';
import { type Output, printable } from './output.ts';
import { adding, showProgress } from './progress.ts';
import { printPairs } from './table.ts';
import { type Found, rowsToVerify, verifyAll } from './verify-parts.ts';

/** Differences that are named: enough to see what they have in common. All are counted. */
const NAMED = 100;

/**
 * Computes the ledger again from the inbox, and everything else from what it was made of, and compares each row; asks
 * the engine for what it knows of its files. Beside a running `serve`, whose rows it only reads. 1 when anything differs.
 */
export function verify(context: Context, { json }: { json?: true }): Promise<number> {
  const { out, env, stopped } = context;
  const encryptor = encryptorOf(env);
  return withDatabase(context, async (db) => {
    const began = performance.now();
    const progress = await showProgress(out, 'rows', await rowsToVerify(db, encryptor));
    const differences = createDifferences(NAMED);
    const signal = stopped();
    const found = await verifyAll(db, encryptor, { tell: differences.tell, looked: adding(progress), signal })
      .catch(ifStopped(signal, 'stopped before the end: nothing was changed, and nothing is proved'))
      .finally(progress.end);
    const ms = Math.round(performance.now() - began);
    if (json) out.json(report(found, differences, ms));
    else tell(out, found, differences, ms);
    return isClean(found, differences) ? 0 : 1;
  });
}

/** What is sealed can be opened only with the keys; everything else can be looked at without. */
function encryptorOf(env: Environment): Encryptor | null {
  const isGiven = [env.DATA_KEYS, env.DATA_KEYS_FILE].some((value) => value !== undefined && value !== '');
  return isGiven ? createEncryptor(readDataKeys(env)) : null;
}

function isClean({ engine }: Found, { total }: Differences): boolean {
  return total === 0 && engine.every(({ result }) => result !== 'fail');
}

function report(found: Found, differences: Differences, ms: number) {
  const { versions, runs, sealed, ...rest } = found;
  return {
    clean: isClean(found, differences),
    ...rest,
    versions: { by_body: versions.byBody, by_hash: versions.byHash },
    runs: { verified: runs.runs - runs.otherRules, lines: runs.lines, by_other_rules: runs.otherRules },
    sealed: sealed && { opened: sealed.opened, key_missing: Object.fromEntries(sealed.unopened) },
    differences: {
      count: differences.total,
      by_field: Object.fromEntries(differences.counts),
      named: differences.named,
    },
    ms,
  };
}

function tell(out: Output, found: Found, differences: Differences, ms: number): void {
  const { versions, runs, sealed } = found;
  printPairs(out, {
    ...Object.fromEntries(found.engine.map(({ name, result, says }) => [name, `${result}: ${says}`])),
    position: found.position,
    'versions computed from their event': versions.byBody,
    'versions whose event kept its hash only': versions.byHash,
    'events without a version': found.events_without_version,
    deductions: found.deductions,
    'roster facts': found.roster_facts,
    requests: found.requests,
    'runs computed again': `${runs.runs - runs.otherRules}, ${runs.lines} lines`,
    'sealed values opened': sealed?.opened ?? 'none: DATA_KEYS is not set',
  });
  if (runs.otherRules > 0) out.note(`${runs.otherRules} runs were computed by the rules of another release`);
  for (const [keyId, count] of sealed?.unopened ?? []) {
    out.note(`${count} sealed values need key ${printable(keyId)}, which DATA_KEYS does not have`);
  }
  for (const { table, id, field, rule } of differences.named) {
    out.print(printable(`${table} ${id}: ${field}: ${rule}`));
  }
  const left = differences.total - differences.named.length;
  if (left > 0) out.print(`… and ${left} more`);
  out.print(
    isClean(found, differences)
      ? out.colour('green', `clean, in ${(ms / 1_000).toFixed(1)} s`)
      : out.colour('red', `NOT clean: ${differences.total} differences`),
  );
}
