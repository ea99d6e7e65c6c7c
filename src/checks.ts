/** The types of readiness checks and their findings. Each domain module exports its checks in these terms. */
import type { ReadinessLimits } from './config.ts';

export type Question = {
  now: Date;
  /** Why this process's clock may be wrong, or null. */
  clockWarning: string | null;
  /** Limits checks of an employer to this one; all employers without it. */
  employerId?: string | undefined;
  /** The employers to which the caller is limited, and today. The report hides findings of other employers. */
  viewer?: { employers: readonly string[]; today: string } | null | undefined;
  /** Limits checks to these employees of the employer; all employees without it. */
  employees?: ReadonlySet<string> | undefined;
} & ReadinessLimits;

export type EmployerQuestion = Question & { employerId: string };

/** The fields for what a finding is about, in their order. Amounts are decimal text; `date` is a day. */
const FACTS = [
  'employer_id',
  'employee_id',
  'employee_ids',
  'deduction_id',
  'version',
  'event_id',
  'change_id',
  'sync_id',
  'run_id',
  'line_of_coverage',
  'taxability',
  'coverage_type',
  'side',
  'date',
  'member_amount',
  'employer_amount',
] as const;
type TextFact = Exclude<(typeof FACTS)[number], 'version' | 'employee_ids'>;

/** A finding as it is shown. It has only the check and the count if the caller may not see it. */
export type Finding = {
  check: string;
  text?: string;
  /** How many findings it stands for, if not one. */
  count?: number;
  version?: number;
  employee_ids?: string[];
} & Partial<Record<TextFact, string>>;

/** A finding as a check returns it. The check makes the text from it. */
export type Found = {
  result: 'warn' | 'fail';
  count?: number;
  version?: number | null;
  /** The first of several employees, as the text lists them: joined by commas. */
  employee_ids?: string[];
  /** With the employee, these events, versions or dates identify a finding that a person can accept. */
  ids?: readonly string[];
  /** An earlier run named it, so it is shown only if a person accepted it. */
  wasNamed?: boolean;
  /** Shown after the check's advice. Equal advice is shown once. */
  advice?: string;
  unapplied?: UnappliedChange | null;
  /** The viewer may not see what the finding is about. */
  isHidden?: boolean;
} & Partial<Record<TextFact, string | null>>;

/** A change of an amount that arrived and is not applied (`inbox/unapplied.ts`). */
export type UnappliedChange = {
  event_id: string;
  received_at: string;
  employee_id: string;
  deduction_id: string | null;
  line_of_coverage: string;
  member_contribution: string | null;
  employer_contribution: string | null;
  current_member_contribution: string | null;
  current_employer_contribution: string | null;
  message: string;
};

/** A page of the console on which findings are fixed. */
export type Place =
  | 'census'
  | 'changes'
  | 'codes'
  | 'events'
  | 'items'
  | 'ledger'
  | 'lines'
  | 'operations'
  | 'settings';

/** Where findings are fixed. */
export type Fixed = {
  at?: Place;
  /** The filter of the page that lists them. Without it, the page lists more than the findings, and has no link. */
  query?: Readonly<Record<string, string>>;
  /** What can be done about a single finding there. */
  action?: 'assign' | 'override';
  /** The command that helps, in addition to the advice. */
  command?: string;
  /** A page of docs/ with its heading. */
  docs?: string;
};

/**
 * A check, declared once with all its texts. Programs recognize it by its id, which never changes. `find` and `text` are
 * methods, so that a list can have checks of different findings.
 */
export type Check<Db, Asked = Question, F extends Found = Found> = {
  id: string;
  /** Names the problem that it finds. */
  title: string;
  /** How bad a finding is, and when, for docs/readiness.md#checks-of-the-ledger. */
  severity: string;
  /** Follows the advice on the same page. */
  detail?: string;
  /** Its findings belong to no single employer. A limited caller sees how many there are. */
  isGeneral?: true;
  /** A failure must be fixed: nobody can accept it. */
  isBlocking?: true;
  /** The ids alone identify a finding, because its employee may become known later. */
  isIdentifiedByIds?: true;
  /** Queries select only what is wrong, so that a healthy system responds quickly. */
  find(db: Db, question: Asked): Promise<readonly F[]>;
  /** Returns the sentence of a finding, which begins with the id of its subject. Without it, the id is the sentence. */
  text?(finding: F): string;
  /** Shown with findings. */
  advice: string;
  /** Shown without findings. */
  passed: string | ((db: Db, question: Asked) => Promise<string>);
  /** The flag that it sets on lines. */
  flag?: string;
  fixed?: Fixed;
};

/** Returns a finding as it is shown. */
export function findingOf<F extends Found>(
  { id: check, text = subjectOf }: Pick<Check<never, never, F>, 'id' | 'text'>,
  found: F,
): Finding {
  const finding: Record<string, unknown> = { check, text: text(found) };
  for (const fact of FACTS) if (found[fact] != null) finding[fact] = found[fact];
  if (found.count !== undefined) finding.count = found.count;
  return finding as Finding;
}

/** Returns the id of the subject of a finding. */
function subjectOf({ event_id, change_id, run_id, employee_id, employer_id }: Found): string {
  return event_id ?? change_id ?? run_id ?? employee_id ?? employer_id ?? '';
}

/** The most findings of one check. More would not help the person who resolves them. */
export const FOUND_AT_MOST = 1_000;

export type CheckResult = {
  id: string;
  result: 'pass' | 'warn' | 'fail' | 'accepted';
  /** Counts the open findings. */
  count: number;
  advice: string;
  /** The first open findings. */
  findings: Finding[];
  /** The first findings that a person accepted earlier and that rest on the same facts. They do not stop finalizing. */
  accepted: AcceptedFinding[];
  /** The first changes that the findings are about, accepted or not. */
  unapplied?: UnappliedChange[];
};

/** `accepted_by` is an `Actor` of `security/audit.ts`, which a foundation may not import. */
export type AcceptedFinding = Finding & Acceptance;

type Acceptance = {
  reason: string;
  accepted_by: {
    kind: 'person' | 'token' | 'cli' | 'system';
    issuer: string | null;
    id: string | null;
    name: string;
    acting_user: string | null;
  };
  accepted_at: string;
};

export type ReadinessReport = {
  ready: boolean;
  checked_at: string;
  checks: CheckResult[];
  /** Changes with `acceptable`, so that a person accepts exactly the findings of one report. */
  etag: string;
  acceptable: AcceptableFinding[];
  /** All open findings, in the order of the checks. */
  open: OpenFinding[];
  /** The failures among them in full, to compare them with approvals. Never shown. */
  failed: AcceptableFinding[];
  /** The findings that earlier acceptances cover. */
  remembered: RememberedFinding[];
};

/** An open finding that a person may accept: a failure, or a warning with ids. */
export type AcceptableFinding = {
  checkId: string;
  result: Found['result'];
  /** The employee and the ids that identify it. */
  employeeId: string | null;
  ids: readonly string[];
  finding: Finding;
};

export type OpenFinding = AcceptableFinding & { isAcceptable: boolean };

/** `recordId`: the audit record of the acceptance. */
export type RememberedFinding = AcceptableFinding & { recordId: number };

export type FindAcceptance = (
  finding: AcceptableFinding,
) => (Acceptance & Pick<RememberedFinding, 'recordId'>) | null;

/** Returns the instant `ms` before now, in the form in which instants are stored. */
export function ago(now: Date, ms: number): string {
  return new Date(now.getTime() - ms).toISOString();
}
