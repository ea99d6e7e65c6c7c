import { readBenefits, readCensus, readDatabaseUrl, readEnvironment } from '../config.ts';
import type { Context } from './context.ts';
import { checkCensusSource } from './doctor/census-source.ts';
import { checkConfiguration } from './doctor/configuration.ts';
import { checkDatabase } from './doctor/database.ts';
import { checkDataFolder, checkDisk } from './doctor/disk.ts';
import { checkEnvironment } from './doctor/environment.ts';
import { type Finding, findingsOf } from './doctor/finding.ts';
import { checkListeners } from './doctor/listeners.ts';
import { checkCertificates, checkNode } from './doctor/runtime.ts';
import { checkService } from './doctor/service.ts';
import { checkUnknown } from './doctor/variables.ts';
import { type Output, printable } from './output.ts';

const MARKS = {
  pass: ['green', 'pass'],
  warn: ['yellow', 'warn'],
  unknown: ['dim', ' ?  '],
  fail: ['red', 'FAIL'],
} as const;

/**
 * Checks what a sidecar needs around it and says what to do about each failure. It changes nothing: not in the
 * database, not at the service. Exit code 0 when nothing failed.
 */
export async function doctor(context: Context, { json }: { json?: true }): Promise<number> {
  const { env, out, now } = context;
  const groups = [
    [checkNode(process.versions.node), checkCertificates(env)],
    checkConfiguration(env),
    [checkUnknown(env)],
    await findingsOf('environment', async () => [checkEnvironment(readEnvironment(env), readBenefits(env))]),
    await findingsOf('database', () => checkDatabase(context)),
    await findingsOf('disk-space', () => checkDisk(readDatabaseUrl(env))),
    await findingsOf('data-folder', async () => checkDataFolder(readDatabaseUrl(env))),
    await checkListeners(env),
    await findingsOf('service', () => checkService(readBenefits(env), now)),
    await findingsOf('census-source', () => checkCensusSource(readCensus(env))),
  ];
  const findings = groups.flat();
  const healthy = findings.every((finding) => finding.result !== 'fail');
  if (json) out.json({ healthy, checks: findings });
  else {
    for (const finding of findings) print(out, finding);
    out.print(healthy ? 'nothing failed' : 'something failed: mend it in this order and run doctor again');
  }
  return healthy ? 0 : 1;
}

function print(out: Output, { id, result, message, advice }: Finding): void {
  const [colour, word] = MARKS[result];
  out.print(`${out.colour(colour, word)}  ${id}: ${printable(message)}`);
  if (advice !== null) out.print(`      ${printable(advice)}`);
}
