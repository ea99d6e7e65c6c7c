/** Payroll runs as the API and the command line show them: the fields with their descriptions, and their values. */
import Type, { type Static } from 'typebox';
import { closed, component, day, integer, nullable, nullableText, text } from '../../contract/fields.ts';
import type { Db } from '../../database/tables.ts';
import { Actor, type LastRecord, lastRecordsOf, makersOf } from '../../security/audit.ts';
import type { LineRecord } from '../calculation/line.ts';
import { runUnder } from '../compute/basis.ts';
import { readTaken } from '../facts/taken.ts';
import { storedBasisOf } from '../records/basis.ts';
import { Run } from '../records/body.ts';
import { frozenOutcomeOf, RunOutcome } from '../records/outcome.ts';
import { bodyOf, type RunRow, type StoredRun } from '../records/runs.ts';
import { Totals, totalsOf } from '../records/totals.ts';
import { readPolicies } from '../settings/policy.ts';
import { type LineSight, markedLines, ShownLine } from './line-view.ts';
import type { RunView } from './results.ts';

const { open_items: open_items_policy, ...ASKED } = Run.properties;

/** A run with its defaults filled in, and the options of the employer's payroll policy. Its `open_items` are what stays open. */
const RUN = { ...ASKED, open_items_policy };

function shownRun({ open_items, ...run }: Run) {
  return { ...run, open_items_policy: open_items };
}

/** The computed fields of a run, stored or previewed. */
const COMPUTED = {
  pay_dates_used: nullable(
    Type.Array(day, {
      description: 'The pay dates of the year, which divide amounts. Null without a pay schedule.',
    }),
  ),
  position: Type.Integer({ minimum: 0, description: 'The ledger position at which the run was computed.' }),
  rules_version: text('The version of the payroll rules.'),
  etag: text(
    'Identifies the lines and the employees of the run. Send it as `If-Match` to finalize exactly these.',
  ),
  totals: Totals,
  ...RunOutcome.properties,
};

const LIFE = {
  state: Type.Enum(['open', 'finalized', 'voided'], {
    description: 'An open run is recomputed on each read. A finalized or voided run never changes.',
  }),
  created_at: text('The time the run was created.'),
  finalized_at: nullableText('The time the run was finalized.'),
  voided_at: nullableText('The time the run was voided.'),
};

const id = text('The ID of the run.');

const DECISIONS = {
  finalized_by: nullable({ ...Actor, description: 'Who finalized the run.' }),
  voided_by: nullable({ ...Actor, description: 'Who voided the run.' }),
  void_approved_by: nullable({
    ...Actor,
    description: 'Who approved voiding. Null if no approval was required.',
  }),
  approval_id: nullableText('The approval with which the run was finalized. Null if none was required.'),
  approved_by: nullable({
    ...Actor,
    description: 'Who approved finalizing. Null if no approval was required.',
  }),
  accepted_by: nullable({ ...Actor, description: 'Who accepted findings. Null if none were.' }),
  accept_reason: nullableText('Why findings were accepted when the run was finalized. Null if none were.'),
  accepted_checks: Type.Array(Type.String(), {
    description: 'The IDs of the checks whose findings were accepted when it was finalized.',
  }),
  void_reason: nullableText('The reason the run was voided.'),
  audit_head: nullableText(
    'The head of the audit records after the run was finalized, as in the header `Audit-Head`. Keep it to verify the records later. Null for an open run.',
  ),
  last_download: nullable(
    closed(
      { by: Actor, at: text('The time of the download.') },
      'The last recorded download of the lines of the final run. Null if there was none.',
    ),
  ),
  taken_reports: Type.Array(
    closed({
      id: text('The ID of the report, unique for the run.'),
      recorded_at: text('The time it was recorded.'),
      lines: integer('The number of lines reported.'),
    }),
    { description: 'Reports of amounts taken. A later report replaces only the lines that it names.' },
  ),
};

export const PayrollRun = component(
  'PayrollRun',
  { id, ...RUN, ...LIFE, ...COMPUTED, ...DECISIONS },
  'A payroll run with its totals.',
);
export type PayrollRun = Static<typeof PayrollRun>;

/** A run without the fields for which an open run must be computed. */
export const PayrollRunOutline = component(
  'PayrollRunOutline',
  {
    id,
    ...RUN,
    ...LIFE,
    etag: nullableText('Null for an open run, which is not computed.'),
    totals: nullable({ ...Totals, description: 'Null for an open run, which is not computed.' }),
    ...DECISIONS,
  },
  'A payroll run as created, with its state.',
);
export type PayrollRunOutline = Static<typeof PayrollRunOutline>;

const { employer_id, kind, pay_frequency, pay_group, period_start, period_end, pay_date } = RUN;

/** A run without computed fields and lists of ids. */
export const PayrollRunSummary = component(
  'PayrollRunSummary',
  {
    id,
    employer_id,
    kind,
    pay_frequency,
    pay_group,
    period_start,
    period_end,
    pay_date,
    ...LIFE,
    etag: nullableText('Null for an open run. Get the run to compute it.'),
    totals: nullable({ ...Totals, description: 'Null for an open run. Get the run to compute it.' }),
  },
  'A payroll run in a list.',
);
export type PayrollRunSummary = Static<typeof PayrollRunSummary>;

export const PayrollRunPreview = component(
  'PayrollRunPreview',
  {
    ...RUN,
    ...COMPUTED,
    lines: nullable(
      Type.Array(ShownLine, {
        description:
          'The first lines, if the run names `employee_ids`; the totals contain their number. Otherwise null.',
      }),
    ),
  },
  'A computed run that is not stored.',
);
export type PayrollRunPreview = Static<typeof PayrollRunPreview>;

/** Returns a stored run with its computed values. */
export async function viewStoredRun(db: Db, view: RunView, stored: StoredRun): Promise<PayrollRun> {
  return { ...(await storedFields(db, stored, view.run, view.acceptedChecks)), ...computedFields(view) };
}

/** Returns a stored run without its computed values. */
export async function outlineOf(db: Db, stored: StoredRun): Promise<PayrollRunOutline> {
  if (stored.state !== 'open') {
    return storedFields(db, stored, storedBasisOf(stored).run, frozenOutcomeOf(stored).accepted_checks);
  }
  const policies = await readPolicies(db, stored.employer_id);
  return storedFields(db, stored, runUnder(bodyOf(stored), policies), []);
}

/** Returns the head of the audit records after a run was finalized. Null for an open run. */
export async function auditHeadOf(db: Db, { run_id, state }: StoredRun): Promise<string | null> {
  if (state === 'open') return null;
  return (await lastRecordsOf(db, run_id, ['run.finalize'])).get('run.finalize')?.head ?? null;
}

/** Returns an approval, and who gave it. */
async function approvalWith(db: Db, id: unknown) {
  if (typeof id !== 'string') return null;
  const made = (await makersOf(db, [Number(id)])).get(Number(id));
  return { id, by: made?.by ?? null };
}

async function storedFields(db: Db, stored: StoredRun, run: Run, acceptedChecks: readonly string[]) {
  const last =
    stored.state === 'open'
      ? new Map<string, LastRecord>()
      : await lastRecordsOf(db, stored.run_id, ['run.finalize', 'run.void', 'run.download']);
  const download = last.get('run.download');
  const finalized_by = last.get('run.finalize')?.by ?? null;
  const approval =
    stored.state === 'open' ? null : await approvalWith(db, frozenOutcomeOf(stored).approval_id);
  const voidApproval = await approvalWith(db, last.get('run.void')?.details.approval_id);
  return {
    id: stored.run_id,
    ...shownRun(run),
    state: stored.state,
    created_at: stored.created_at,
    finalized_at: stored.finalized_at,
    finalized_by,
    voided_at: stored.voided_at,
    voided_by: last.get('run.void')?.by ?? null,
    void_approved_by: voidApproval?.by ?? null,
    etag: stored.etag,
    totals: stored.totals === null ? null : totalsOf(stored),
    accept_reason: stored.accept_reason,
    approval_id: approval?.id ?? null,
    approved_by: approval?.by ?? null,
    accepted_by: stored.accept_reason === null ? null : (approval?.by ?? finalized_by),
    accepted_checks: [...acceptedChecks],
    void_reason: stored.void_reason,
    audit_head: last.get('run.finalize')?.head ?? null,
    last_download: download === undefined ? null : { by: download.by, at: download.at },
    taken_reports: await readTaken(db, stored.run_id),
  };
}

export async function viewPreview(
  db: Db,
  view: RunView,
  lines: LineRecord[] | null,
  sight: LineSight,
): Promise<PayrollRunPreview> {
  const shown = lines === null ? null : await markedLines(db, sight, lines);
  return { ...shownRun(view.run), ...computedFields(view), lines: shown };
}

function computedFields({ plan, outcome, ...view }: RunView) {
  return {
    pay_dates_used: plan.calendar?.map(({ pay_date }) => pay_date) ?? null,
    position: view.position,
    rules_version: view.rulesVersion,
    etag: view.etag,
    totals: view.totals,
    ...outcome,
  };
}

/** Returns a stored run as a list shows it. */
export function viewRunSummary(stored: RunRow): PayrollRunSummary {
  const { run_id, totals, ...row } = stored;
  return {
    id: run_id,
    ...row,
    pay_frequency: row.pay_frequency as Run['pay_frequency'],
    totals: totals === null ? null : totalsOf(stored),
  };
}
