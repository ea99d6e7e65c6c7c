import { readBenefits, readCensus, readDatabaseUrl } from '../../config.ts';
import { readNotify } from '../../notify-config.ts';
import { readProxy } from '../../proxy-config.ts';
import { markOf, printChecks } from '../checks.ts';
import type { Command } from '../command.ts';
import { type Output, printable, printResult, printWrapped } from '../output.ts';
import { checkCensusSource, checkNotified, checkService } from './benefits-service.ts';
import { checkCertificates, checkConfiguration, checkUnknown } from './configuration.ts';
import { checkDatabase, checkDataFolder } from './database.ts';
import { type Finding, findingsOf } from './finding.ts';
import { checkSending, NOT_ASKED, readSendingState } from './sending.ts';

export function addDoctorCommand(program: Command): void {
  program
    .subcommand('doctor', 'Check the configuration, the database and the connections.')
    .records('none')
    .examples('doctor', 'doctor --all', 'doctor --json')
    .checks()
    .json()
    .doesOnMachine(async (context, { all = false }: { all?: boolean }) => {
      // Changes nothing in the database or at the service. Returns 0 if no check failed.
      const { env, out, now } = context;
      const sending = await readSendingState(env);
      const groups = [
        await findingsOf('certificates', () => checkCertificates(env)),
        checkConfiguration(env, sending !== 'off'),
        await findingsOf('variables', () => checkUnknown(env)),
        await findingsOf('database', () => checkDatabase(context)),
        await findingsOf('data-folder', () => checkDataFolder(readDatabaseUrl(env))),
        await findingsOf('sending', () => checkSending(sending)),
        await findingsOf('service', () =>
          sending === 'on' ? checkService(readBenefits(env), now, readProxy(env)) : NOT_ASKED,
        ),
        await findingsOf('census-source', () => checkCensusSource(readCensus(env), readProxy(env))),
        await findingsOf('notifications', () => checkNotified(readNotify(env), readProxy(env))),
      ];
      const findings = groups.flat();
      const healthy = findings.every((finding) => finding.result !== 'fail');
      printResult(out, { healthy, checks: findings }, () => {
        const advice = healthy ? '' : ' Fix the failed checks in this order, then run doctor again.';
        const outcome = (summary: string) => `${summary[0]?.toUpperCase()}${summary.slice(1)}.${advice}`;
        printChecks(out, { checks: findings, all }, (finding) => printFinding(out, finding), outcome);
      });
      return healthy ? 0 : 1;
    });
}

function printFinding(out: Output, { id, result, message, advice }: Finding): void {
  printWrapped(out, markOf(out, result), `${id}: ${printable(message)}`);
  if (advice !== null) printWrapped(out, '      ', printable(advice));
}
