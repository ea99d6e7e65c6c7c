/** A database with rows of everything that `verify` checks, written by the service's own code. */

import { join } from 'node:path';
import type { Test } from 'tap';
import { readDataKeys } from '../../src/config.ts';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { reprocessEvent } from '../../src/inbox/events.ts';
import { importDeductions } from '../../src/inbox/import.ts';
import { recordAssignment } from '../../src/ledger/assignments.ts';
import { centsOf } from '../../src/money.ts';
import { recordDecisions } from '../../src/payroll/facts/decisions.ts';
import { putOpeningItems } from '../../src/payroll/facts/opening-items.ts';
import { NO_TERMS } from '../../src/payroll/reconciliation/requested-decisions.ts';
import { insertApproval } from '../../src/payroll/records/approvals.ts';
import { setApproval } from '../../src/payroll/settings/approval.ts';
import { putCodes } from '../../src/payroll/settings/codes.ts';
import { putFormat } from '../../src/payroll/settings/file-formats.ts';
import { DEFAULTS, putPolicy } from '../../src/payroll/settings/policy.ts';
import { putSchedules } from '../../src/payroll/settings/schedules.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { createToken, revokeToken } from '../../src/security/tokens.ts';
import { apply, deductionOf, deliver, receive } from '../api/deliver.ts';
import { deduction as sample } from '../contract/samples.ts';
import { acceptChange } from '../employment/stage.ts';
import { ACTING, acting } from '../support/audit.ts';
import {
  EMPLOYER,
  finalize,
  finalizedOn,
  hireMany,
  LATELY,
  override,
  putOn,
  READY,
  schedule,
  setPolicy,
  taken,
  view,
  voided,
} from '../support/payroll.ts';
import { FIXTURES, here, type Variables, withFixtures } from './harness.ts';

const now = () => new Date(LATELY);

export async function staged(t: Test): Promise<{ env: Variables; db: Db }> {
  const { env, db } = await withFixtures(t, '2026-07-01T08:00:00.000Z');
  await fillPayroll(db);
  await outside(t, env, db);
  return { env, db };
}

/** Adds rows of the ledger, of payroll and of its settings, and tokens. */
export async function fillPayroll(db: Db): Promise<void> {
  await ledger(db);
  await payroll(db);
  await decided(db);
}

/**
 * A deduction with versions in order, late, tied, moved to another employee, and imported; a conflict; an
 * event applied twice.
 */
async function ledger(db: Db): Promise<void> {
  const one = (eventId: string, createdAt: string, fields: object = {}) =>
    deductionOf(eventId, { id: 'd-1', employee_id: 'e-1', description: 'Gold', ...fields }, createdAt);
  await deliver(db, [
    one('d-1.1', '2026-05-01T00:00:00Z', { effective_start: '2026-05-01', effective_end: '2026-12-31' }),
    one('d-1.2', '2026-05-03T00:00:00Z', { member_contribution: '160.00' }),
    one('d-1.3', '2026-05-02T00:00:00Z', { member_contribution: '155.00' }),
    one('d-1.4', '2026-05-03T00:00:00Z', { member_contribution: '161.00', coverage_type: 'member_family' }),
    one('d-1.5', '2026-05-04T00:00:00Z', { employee_id: 'e-2' }),
    one('d-1.6', '2026-05-01T12:00:00Z', { employee_id: 'e-3' }),
  ]);
  await receive(db, [one('d-1.1', '2026-05-01T00:00:00Z', { member_contribution: '1.00' })]);
  const fields = { ...sample, id: 'd-imported', created_at: '2026-01-01T00:00:00Z' };
  await importDeductions(db, () => [{ path: 'deductions[0]', fields }], acting(LATELY));
  await apply(db, LATELY);
  await transact(db, (trx) => reprocessEvent(trx, 'd-1.2', ACTING));
  await apply(db, '2026-07-11T00:00:00.000Z');
}

/** Two finalized runs, the first with an accepted failure, the second with adjustments and arrears; one voided and one open run. */
async function payroll(db: Db): Promise<void> {
  await transact(db, (trx) => putSchedules(trx, EMPLOYER, [schedule()], acting(LATELY)));
  const [first = '', second = ''] = await hireMany(db, 3);
  await putOn(db, '2026-06-05');
  await override(db, '2026-06-05', second, `ded-${second}`);
  const accept = { checks: ['overlap'], reason: 'both are right' };
  const overlap = { checkId: 'overlap', employeeId: first, ids: [`ded-${first}:1`] };
  const finding = { check: 'overlap', text: first, employee_id: first };
  const acceptable = [{ ...overlap, finding, result: 'fail' as const }];
  const { etag } = await view(db, '2026-06-05');
  await finalize(db, '2026-06-05', { accept, ifMatch: etag }, async () => {
    return { ...READY, etag, acceptable };
  });
  await taken(db, '2026-06-05', { employee_id: first, amount: '40' });
  const earlier = { id: `ded-${first}`, employee_id: first, member_contribution: '170.00' };
  await deliver(db, [deductionOf('again', earlier, '2026-07-01T00:00:00Z')], LATELY);
  await setPolicy(db, { open_items: 'include', recoup: { method: 'all' } });
  await finalizedOn(db, '2026-06-19');
  await finalizedOn(db, '2026-07-03');
  await voided(db, '2026-07-03');
  await putOn(db, '2026-07-17');
  await override(db, '2026-07-17', second, `ded-${second}`);
  await approvals(db, first);
}

/** An approval that accepts a failure, and a second approval that is required, with a request to switch it off. */
async function approvals(db: Db, employeeId: string): Promise<void> {
  const finding = {
    ...{ checkId: 'overlap', employeeId, ids: [], result: 'fail' as const },
    finding: { check: 'overlap', text: employeeId },
  };
  const approval = {
    ...{ runId: '2026-07-17', employerId: EMPLOYER, action: 'finalize' as const, etag: 'etag' },
    ...{ person: 'ann', checks: ['overlap'], findings: [finding], reason: 'reviewed' },
  };
  await transact(db, async (trx) => {
    await insertApproval(trx, approval, ACTING);
    for (const required of [true, false])
      await setApproval(trx, 'approving', { required, reason: 'a test', person: 'ann' }, ACTING);
  });
}

/** Decisions, assignments, opening items and settings of an employer without runs, and two tokens, one of them revoked. */
async function decided(db: Db): Promise<void> {
  const moving = (eventId: string, amount: string, from: string, createdAt: string) => {
    const fields = { id: 'd-moved', employee_id: 'e-9', member_contribution: amount, effective_start: from };
    return deductionOf(eventId, fields, createdAt);
  };
  await deliver(db, [
    moving('moved.1', '10.00', '2026-09-01', '2026-07-01T00:00:00Z'),
    moving('moved.2', '12.00', '2026-10-01', '2026-07-02T00:00:00Z'),
  ]);
  const by = acting(LATELY);
  const openings = ['old-1', 'old-2'].map((opening_id) => ({
    ...{
      opening_id,
      employee_id: 'e-9',
      deduction_id: null,
      line_of_coverage: 'dental',
      taxability: 'pre_tax',
    },
    ...{ amount: { member: centsOf('10.00'), employer: centsOf('0.00') }, pay_date: '2026-06-05' },
  }));
  const decisions = ['take', 'hold'].map((action) => ({
    ...NO_TERMS,
    ...{ employee_id: 'e-9', item_id: 'opening:old-1:e-9::dental:pre_tax', run_id: null, reason: 'agreed' },
    ...{ action: action as 'take' | 'hold', made_for: openings[0]?.amount ?? null },
  }));
  await transact(db, async (trx) => {
    const assigned = { deduction_id: 'd-moved', employer_id: 'deciding', effective_on: '2026-09-01' };
    const concerned = { employee: 'e-9', employers: ['deciding', 'other'] };
    await recordAssignment(trx, { ...assigned, reason: 'a second job' }, concerned, by);
    await putOpeningItems(trx, 'deciding', openings, by);
    await recordDecisions(trx, 'deciding', decisions, by);
    await putPolicy(trx, 'deciding', { ...DEFAULTS, effective_from: '2026-01-01' }, by);
    const code = { line_of_coverage: 'dental', side: 'employee', code: 'D1' } as const;
    await putCodes(
      trx,
      'deciding',
      [{ ...code, taxability: null, coverage_type: null, treatment: null }],
      by,
    );
    const format = {
      columns: [{ header: 'EE ID', field: 'employee_id', rules: [] }],
      ...{ constants: {}, sheet: null, id_prefix: null, leave_out: [] },
    };
    await putFormat(trx, neverEncrypts, 'deciding', { kind: 'census', format }, by);
    for (const name of ['valid', 'revoked'])
      await createToken(trx, { name, scopes: ['runs:read'], expiresAt: null, now: now(), actor: by.actor });
    await revokeToken(trx, 'revoked', by);
  });
}

/** A format without an organization has no personal data. */
const neverEncrypts = (): never => {
  throw new Error('nothing is encrypted');
};

/** A staged census and two employment changes, one of them with one attempt. */
async function outside(t: Test, env: Variables, db: Db): Promise<void> {
  const census = join(FIXTURES, 'census/json/maple-bakery.json');
  const ran = await here(t, env, ['census', 'stage', census, '--employer', 'maple-bakery']);
  if (ran.code !== 0) throw new Error(ran.stderr);
  const accepting = { db, encryptor: createEncryptor(readDataKeys(env)), sharedNow: async () => now() };
  const bodies = [
    { employee_id: 'many-0000', termination_date: '2026-08-01' },
    { employee_id: 'many-0001', termination_date: '2026-09-01' },
  ];
  const change = { kind: 'termination', effectiveOn: '2026-08-01', payGroup: 'north' } as const;
  for (const body of bodies) await acceptChange(accepting, { ...change, body }, body.employee_id);
}
