/** The types of readiness checks and their findings. Each domain module exports its checks in these terms. */
import type { ReadinessLimits } from './config.ts';

export type Question = {
  now: Date;
  /** Why this process's clock may be wrong, or null. */
  clockWarning: string | null;
  /** Limits checks of an employer to this one; all employers without it. */
  employerId?: string | undefined;
  /** A caller limited to these employers, and the day: its report hides what belongs to others. */
  viewer?: { employers: readonly string[]; today: string } | null | undefined;
  /** Of the employer's employees only these; all without it. */
  employees?: ReadonlySet<string> | undefined;
} & ReadinessLimits;

export type EmployerQuestion = Question & { employerId: string };

/** `ids`: with the employee, these events, versions or dates identify a finding that a person can accept. */
export type Found = {
  example: string;
  result: 'warn' | 'fail';
  count?: number;
  employeeId?: string | null;
  ids?: readonly string[];
  /** Shown after the check's advice, once for equal ones. */
  advice?: string;
  unapplied?: UnappliedChange | null;
  /** The viewer may not see what the finding is about. */
  isHidden?: boolean;
};

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

/** A check, declared once with all its texts. Programs recognize it by its id, which never changes. */
export type Check<Db, Asked = Question> = {
  id: string;
  /** Names the problem that it finds, in the console and in docs/readiness-checks.md. */
  title: string;
  /** The command that helps with a finding, in addition to the advice. */
  command?: string;
  /** Its findings belong to no single employer. A limited caller sees how many there are. */
  isGeneral?: true;
  /** A failure must be fixed: nobody can accept it. */
  isBlocking?: true;
  /** Queries select only what is wrong, so that a healthy system responds quickly. */
  ask: (db: Db, question: Asked) => Promise<Found[]>;
  /** Shown with findings. */
  advice: string;
  /** Shown without findings. */
  passed: string | ((db: Db, question: Asked) => Promise<string>);
};

/** The most findings of one check. More would not help the person who resolves them. */
export const FOUND_AT_MOST = 1_000;

export type CheckResult = {
  id: string;
  result: 'pass' | 'warn' | 'fail' | 'accepted';
  /** Counts the open findings. */
  count: number;
  advice: string;
  examples: string[];
  /** Findings that a person accepted earlier and that rest on the same facts. They do not stop finalizing. */
  accepted: AcceptedFinding[];
  /** The first changes that the findings are about, accepted or not. */
  unapplied?: UnappliedChange[];
};

/** `accepted_by` is an `Actor` of `security/audit.ts`, which a foundation may not import. */
export type AcceptedFinding = {
  example: string;
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
  /** The failures among them in full, to compare them with approvals. Never shown. */
  failed: AcceptableFinding[];
  /** The findings that earlier acceptances cover. */
  remembered: RememberedFinding[];
};

/** An open finding that a person may accept: a failure, or a warning with ids. */
export type AcceptableFinding = {
  checkId: string;
  example: string;
  result: Found['result'];
  employeeId: string | null;
  ids: readonly string[];
};

/** `recordId`: the audit record of the acceptance. */
export type RememberedFinding = AcceptableFinding & { recordId: number };

export type FindAcceptance = (
  finding: Omit<AcceptableFinding, 'example'>,
) => (Omit<AcceptedFinding, 'example'> & Pick<RememberedFinding, 'recordId'>) | null;

export function fail(example: string): Found {
  return { example, result: 'fail' };
}

/** Returns the instant `ms` before now, in the form in which instants are stored. */
export function ago(now: Date, ms: number): string {
  return new Date(now.getTime() - ms).toISOString();
}
