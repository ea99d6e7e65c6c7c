/** Act 7 and the table: the ledger as the API tells it, against what the benefits service has. */

import type { ReadinessReport } from '../../checks.ts';
import { Deduction } from '../../contract/deduction.ts';
import { dayOf } from '../../contract/instant.ts';
import type { DeductionView } from '../../ledger/deduction-view.ts';
import type { Output } from '../output.ts';
import { printTable } from '../table.ts';
import { firstDifference } from './difference.ts';
import { expect, expectEqual } from './expectation.ts';
import type { Act, Scene } from './scene.ts';
import type { Stage } from './stage.ts';

export const LEDGER_ACT: Act = {
  title: 'The ledger, read over the API, is compared with what the benefits service has',
  play: compareLedger,
};

async function compareLedger({ stage, holds }: Scene): Promise<void> {
  const { simulator, api, censuses } = stage;
  const held = simulator.deductions();
  const ledger = await api.list<DeductionView>('/v1/deductions');
  expectEqual('deduction ids', ledger.map(({ id }) => id).sort(), held.map(({ id }) => id).sort());
  for (const deduction of held) {
    const state = ledger.find(({ id }) => id === deduction.id)!;
    const difference = firstDifference(sentPartOf(state), deduction);
    expect(
      difference === null,
      `deduction ${deduction.id} (${deduction.line_of_coverage} of ${deduction.employee_id}) as the benefits service has it`,
      `another ${difference} in the ledger`,
    );
  }
  holds(`${ledger.length} deductions, equal in every field.`);

  for (const [employerId, { employees }] of censuses) {
    const ids = new Set(employees.map((employee) => employee.employee_id));
    const elsewhere = ledger.find(
      (state) => (state.employer_id === employerId) !== ids.has(state.employee_id),
    );
    expect(
      elsewhere === undefined,
      `deductions at ${employerId} of the employees in its census, and of no others`,
      `${elsewhere?.employee_id} at ${elsewhere?.employer_id ?? 'no employer'}`,
    );
  }
  holds('Each belongs to the employer in whose census the employee is.');

  const { checks } = await api.get<ReadinessReport>('/v1/readiness');
  const open = checks.filter((check) => check.result !== 'pass');
  expect(
    open.length === 0,
    'every check of readiness to pass',
    open.map((check) => `${check.id}: ${check.examples.join(', ')}`).join('; '),
  );
  holds(`All ${checks.length} checks of readiness pass: a payroll run can trust this ledger.`);
}

/** Prints an employer's part of the ledger, read over the API, by employee. */
export async function printLedger(out: Output, { api, censuses }: Stage, employerId: string): Promise<void> {
  const states = await api.list<DeductionView>(
    `/v1/deductions?employer_id=${encodeURIComponent(employerId)}`,
  );
  const name = censuses.get(employerId)?.organization.legal_business_name;
  out.print(`\n${out.colour('bold', `${name} (${employerId})`)}`);
  printTable(out, HEAD, states.sort(byEmployeeAndLine).map(rowOf));
}

const HEAD = [
  'employee',
  'line of\ncoverage',
  'employee\n  amount',
  'employer\n  amount',
  'per',
  'tax',
  'from',
  'to',
  'version',
];
/** As wide as the head: decimal points stand below each other. */
const AMOUNT_WIDTH = 'employee'.length;

function rowOf(state: DeductionView): (string | number | null)[] {
  const { effective_start: start, effective_end: end } = state;
  return [
    state.employee_id,
    state.line_of_coverage,
    state.member_contribution.padStart(AMOUNT_WIDTH),
    state.employer_contribution.padStart(AMOUNT_WIDTH),
    state.period,
    state.taxability === 'pre_tax' ? 'pre' : 'post',
    start ? dayOf(start) : null,
    end ? dayOf(end) : null,
    state.version,
  ];
}

function byEmployeeAndLine(one: DeductionView, other: DeductionView): number {
  const keys = [one, other].map((state) => `${state.employee_id} ${state.line_of_coverage}`);
  return keys[0]! < keys[1]! ? -1 : 1;
}

/** The fields that are the service's own, without what the ledger adds. */
function sentPartOf(state: DeductionView): Record<string, unknown> {
  return Object.fromEntries(Object.entries(state).filter(([name]) => name in Deduction.properties));
}
