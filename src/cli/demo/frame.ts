/** What is said before the first act and after the last one: where everything is, and how to try it. */

import type { VersionView } from '../../ledger/deduction-view.ts';
import type { PayrollRunSummary } from '../../payroll/run-view.ts';
import type { Output } from '../output.ts';
import { printPairs } from '../table.ts';
import type { Stage } from './stage.ts';

export function introduce(out: Output, stage: Stage): void {
  out.print(
    `${out.colour('bold', 'benefits-sidecar: the census goes out, deductions come in, payroll runs')}\n`,
  );
  printAddresses(out, stage);
}

function printAddresses(out: Output, { simulator, payroll, censuses, sidecar, folder }: Stage): void {
  printPairs(out, {
    'benefits service': `${simulator.url}, simulated`,
    'payroll system': `${payroll.url}, simulated: ${[...censuses.keys()].join(' and ')}`,
    sidecar: `${sidecar.receiver} for webhooks, ${sidecar.api} for payroll`,
    'scratch folder': `${folder}, with its SQLite database`,
  });
}

/** Lines to paste into another terminal. The token goes with the demo: it opens nothing else. */
export async function invite(out: Output, stage: Stage): Promise<void> {
  const { api, token, sidecar, censuses } = stage;
  const versions = await api.list<VersionView>('/v1/deduction-versions', 'after');
  const late = versions.find((version) => version.late);
  const [employerId = ''] = censuses.keys();
  const runs = await api.list<PayrollRunSummary>(
    `/v1/payroll-runs?employer_id=${encodeURIComponent(employerId)}`,
  );
  const paths = [
    `/v1/deductions?employer_id=${encodeURIComponent(employerId)}`,
    ...(late === undefined ? [] : [`/v1/deductions/${encodeURIComponent(late.id)}/versions`]),
    '/v1/readiness',
    ...runs.slice(0, 1).map(({ run_id }) => `/v1/payroll-runs/${run_id}/lines`),
  ];
  out.print('\nEverything stays up:\n');
  printAddresses(out, stage);
  out.print('\nTo try the API, in another terminal:\n');
  out.print(`  export API=${sidecar.api} TOKEN=${token}`);
  for (const path of paths) out.print(`  curl -H "Authorization: Bearer $TOKEN" "$API${path}"`);
  out.print(`\nIn a browser: ${sidecar.api} (sign in with the token)`);
  out.print('\nCtrl-C ends the demo and removes its files.');
}
