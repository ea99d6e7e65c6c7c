/** An employer's payroll policy: the options of its runs, by the pay date from which they apply. */
import Type, { type Static } from 'typebox';
import { compile } from '../../contract/check.ts';
import { closed, day, oneOf } from '../../contract/fields.ts';
import type { Db, Trx } from '../../database/tables.ts';
import type { Problem } from '../../errors.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { APPLIES_ON, EXTRA_PAYCHECKS, REMAINDERS, SCHEMES } from '../calculation/plan.ts';
import { changePayroll } from './lock.ts';

/** Whether a run takes the differences of earlier runs, or only reports them. */
export const COLLECTIONS = ['report', 'include'] as const;

const collection = oneOf(
  COLLECTIONS,
  `must be ${COLLECTIONS.join(' or ')}; decided is not available until open items exist`,
);

/** The options of a run. An employer's payroll policy decides those that the run does not state. */
export const OPTION_FIELDS = {
  scheme: Type.Optional(oneOf(SCHEMES)),
  applies_on: Type.Optional(oneOf(APPLIES_ON)),
  remainder: Type.Optional(oneOf(REMAINDERS)),
  extra_paycheck: Type.Optional(oneOf(EXTRA_PAYCHECKS)),
  adjustments: Type.Optional(collection),
  arrears: Type.Optional(collection),
};

export const Options = Type.Required(closed(OPTION_FIELDS));
export type Options = Static<typeof Options>;

const readStored = jsonColumn('payroll_policies', 'options', Options);

export const OPTIONS = Object.keys(OPTION_FIELDS) as (keyof Options)[];

/** Returns the options with defaults for those that are left out. */
export function optionsOf(given: { readonly [Name in keyof Options]?: Options[Name] | undefined }): Options {
  return {
    scheme: given.scheme ?? 'annualized',
    applies_on: given.applies_on ?? 'pay_date',
    remainder: given.remainder ?? 'last',
    extra_paycheck: given.extra_paycheck ?? 'take',
    adjustments: given.adjustments ?? 'report',
    arrears: given.arrears ?? 'report',
  };
}

export type Policy = Options & { effective_from: string };
export type PolicyVersion = Policy & { version: number; created_at: string; created_by: string | null };

const policyBody = compile(closed({ effective_from: day, ...OPTION_FIELDS }));

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
  return rows.map(({ options, ...row }) => ({
    ...row,
    ...readStored(options, `${employerId}, version ${row.version}`),
  }));
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

/** Returns the options of the policy that applies on a pay date. */
export function optionsOn(policies: readonly PolicyVersion[], payDate: string): Options {
  return policies.find(({ effective_from }) => effective_from <= payDate) ?? optionsOf({});
}
