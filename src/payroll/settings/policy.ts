/** An employer's payroll policy: the options of its runs, by the pay date from which they apply. */
import Type from 'typebox';
import { compile, type Problem } from '../../contract/check.ts';
import { day } from '../../contract/fields.ts';
import type { Db, Trx } from '../../database/tables.ts';
import { OPTION_FIELDS, OPTIONS, type Options, optionsOf, type Run, type StatedRun } from '../runs/body.ts';
import { changePayroll } from './lock.ts';

export type Policy = Options & { effective_from: string };
export type PolicyVersion = Policy & { version: number; created_at: string; created_by: string | null };

export const PolicyBody = Type.Object(
  { effective_from: day, ...OPTION_FIELDS },
  { additionalProperties: false },
);

const policyBody = compile(PolicyBody);

/** Returns the policy that a body sets, with defaults for options that are left out, or what is wrong with it. */
export function policyOf(body: unknown): { ok: true; policy: Policy } | { ok: false; problems: Problem[] } {
  if (!policyBody.accepts(body)) return { ok: false, problems: policyBody.problems(body) };
  return { ok: true, policy: { effective_from: body.effective_from, ...optionsOf(body) } };
}

/** Returns the versions of an employer's policy, the newest `effective_from` first. */
export async function readPolicies(db: Db | Trx, employerId: string): Promise<PolicyVersion[]> {
  const rows = await db
    .selectFrom('payroll_policies')
    .select(['version', 'effective_from', 'options', 'created_at', 'created_by'])
    .where('employer_id', '=', employerId)
    .orderBy('effective_from', 'desc')
    .orderBy('version', 'desc')
    .execute();
  return rows.map(({ options, ...row }) => ({ ...row, ...(JSON.parse(options) as Options) }));
}

/** Adds a version. A policy that is already the latest of its date changes nothing. */
export async function putPolicy(
  trx: Trx,
  employerId: string,
  { effective_from, ...options }: Policy,
  { now, by }: { now: string; by: string | null },
): Promise<void> {
  await changePayroll(trx);
  const known = await readPolicies(trx, employerId);
  const latest = known.find((one) => one.effective_from === effective_from);
  if (latest !== undefined && OPTIONS.every((name) => latest[name] === options[name])) return;
  await trx
    .insertInto('payroll_policies')
    .values({
      employer_id: employerId,
      version: Math.max(0, ...known.map(({ version }) => version)) + 1,
      effective_from,
      options: JSON.stringify(options),
      created_at: now,
      created_by: by,
    })
    .execute();
}

/** Returns the run with its effective options: those that it states, else those of the policy on its pay date. */
export function runUnder(stated: StatedRun, policies: readonly PolicyVersion[]): Run {
  const policy = policyOn(policies, stated.pay_date);
  const options = OPTIONS.map((name) => [name, stated[name] ?? policy[name]]);
  return { ...stated, ...(Object.fromEntries(options) as Options) };
}

/** Returns a problem if the run states an option that differs from the policy without a `policy_reason`. */
export function policyProblem(stated: StatedRun, policies: readonly PolicyVersion[]): Problem | null {
  if (stated.policy_reason !== null) return null;
  const policy = policyOn(policies, stated.pay_date);
  const differing = OPTIONS.filter((name) => stated[name] !== null && stated[name] !== policy[name]);
  if (differing.length === 0) return null;
  const named = differing.map((name) => `${name} (${policy[name]})`).join(', ');
  return {
    path: 'policy_reason',
    rule: `is required to differ from the employer's payroll policy in ${named}`,
  };
}

function policyOn(policies: readonly PolicyVersion[], payDate: string): Options {
  return policies.find(({ effective_from }) => effective_from <= payDate) ?? optionsOf({});
}
