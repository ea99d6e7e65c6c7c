/** An employer's payroll policy: the options of its runs, by the pay date from which they apply. */
import { isDeepStrictEqual } from 'node:util';
import Type, { type Static } from 'typebox';
import { compile, PROBLEMS_MAX } from '../../contract/check.ts';
import { closed, component, day, integer, oneOf, oneOfDescribed, text } from '../../contract/fields.ts';
import type { Db, Tables, Trx } from '../../database/tables.ts';
import { refused } from '../../errors.ts';
import { jsonColumn } from '../../formats/json-column.ts';
import { type Acting, Actor, isRecordedBy } from '../../security/audit.ts';
import { type Fact, insertFacts, withMakers } from '../../security/facts.ts';
import { APPLIES_ON } from '../calculation/plan.ts';
import { lockPayroll } from './lock.ts';
import type { Setting } from './setting.ts';

/** Whether a run takes the open items that a person decided to take, or undecided ones too. */
export const COLLECTIONS = ['decided', 'include'] as const;

/** A factor of an amount, such as 2 or 0.5. */
const FACTOR = '^[0-9]{1,4}([.][0-9]{1,4})?$';
/** An amount without a sign. */
const LIMIT = '^[0-9]{1,12}([.][0-9]{1,2})?$';

/** The most that a run takes of an employee's open items for a line of coverage. */
const Recoup = Type.Union(
  [
    closed({ method: Type.Literal('all', { description: 'No limit.' }) }),
    closed({
      method: Type.Literal('multiple', { description: 'A multiple of the regular amount.' }),
      value: Type.String({ pattern: FACTOR, description: 'The factor, such as `2`.' }),
    }),
    closed({
      method: Type.Literal('amount', { description: 'An amount.' }),
      value: Type.String({ pattern: LIMIT, description: 'The amount, such as `50.00`.' }),
    }),
  ],
  {
    rule: 'must be {"method": "all"}, or have the method "multiple" with a value such as "2", or "amount" with a value such as "50.00"',
    description:
      'The most that a run takes of an employee’s open items for a line of coverage: `all`; `multiple`: this many times the regular amount; ' +
      '`amount`: this amount. Default: once the regular amount.',
  },
);
type Recoup = Static<typeof Recoup>;

/** The options of an employer's runs. */
export const Options = closed({
  applies_on: oneOfDescribed(
    APPLIES_ON,
    'The day on which a deduction must be in effect: the pay date, the end of the pay period, or the first day of the month ' +
      'after the pay date. Default `pay_date`.',
  ),
  open_items: {
    ...oneOf(COLLECTIONS, `must be ${COLLECTIONS.join(' or ')}`),
    description:
      'Which open items a run takes: those that a person `decided` to take, or undecided ones too (`include`). Default `decided`.',
  },
  recoup: Recoup,
});
const OPTION_FIELDS = Type.Partial(Options).properties;

export type Options = Static<typeof Options>;

const readStored = jsonColumn('payroll_policies', 'options', Options);

export const OPTIONS = Object.keys(Options.properties) as (keyof Options)[];

export const DEFAULTS: Options = {
  applies_on: 'pay_date',
  open_items: 'decided',
  recoup: { method: 'multiple', value: '1' },
};

const effective_from = { ...day, description: 'Runs with this pay date or a later one use the version.' };

export const PolicyRequest = component(
  'PayrollPolicyRequest',
  { effective_from, ...OPTION_FIELDS },
  'Omitted options have their defaults.',
);
export type Policy = Options & { effective_from: string };

const ShownVersion = closed({
  version: integer('The number of the version, in the order set.'),
  effective_from,
  ...Options.properties,
  created_at: text('The time it was set.'),
  created_by: Actor,
});
type ShownVersion = Static<typeof ShownVersion>;
export type PolicyVersion = Omit<ShownVersion, 'created_at' | 'created_by'>;

export const PayrollPolicy = component(
  'PayrollPolicy',
  {
    versions: Type.Array(ShownVersion, {
      description: 'The newest `effective_from` first, then the newest version. Empty without a policy.',
    }),
  },
  "An employer's payroll policy with its history: the options of its runs.",
);

const policyBody = compile(PolicyRequest);

export const POLICY: Setting<Policy, { versions: ShownVersion[] }> = {
  check(body) {
    if (!policyBody.accepts(body))
      throw refused('SETTINGS_REFUSED', policyBody.problems(body, PROBLEMS_MAX, 'hints'));
    return { ...DEFAULTS, ...body, recoup: recoupOf(body.recoup ?? DEFAULTS.recoup) };
  },
  put: putPolicy,
  view: async (db, employerId, knownAt) => ({ versions: await shownVersions(db, employerId, knownAt) }),
};

/** Returns the fields in one order, so that equal options have the same JSON. */
function recoupOf(recoup: Recoup): Recoup {
  return recoup.method === 'all' ? { method: 'all' } : { method: recoup.method, value: recoup.value };
}

/** Returns the versions, the newest `effective_from` first, then the newest version. */
export async function readPolicies(db: Db | Trx, employerId: string): Promise<PolicyVersion[]> {
  return (await storedVersions(db, employerId).execute()).map((row) => readVersion(row, employerId));
}

function storedVersions(db: Db | Trx, employerId: string, knownAt?: string) {
  return db
    .selectFrom('payroll_policies')
    .select(['version', 'effective_from', 'options'])
    .where('employer_id', '=', employerId)
    .where(isRecordedBy(db, knownAt))
    .orderBy('effective_from', 'desc')
    .orderBy('version', 'desc');
}

type StoredVersion = Pick<Tables['payroll_policies'], 'version' | 'effective_from' | 'options'>;

function readVersion({ version, effective_from, options }: StoredVersion, employerId: string): PolicyVersion {
  return { version, effective_from, ...readStored(options, `${employerId}, version ${version}`) };
}

async function shownVersions(db: Db, employerId: string, knownAt?: string): Promise<ShownVersion[]> {
  const rows = await withMakers(storedVersions(db, employerId, knownAt));
  return rows.map(({ made, ...row }) => {
    return { ...readVersion(row, employerId), created_at: made.at, created_by: made.by };
  });
}

export const POLICY_VERSION: Fact<'payroll_policies'> = {
  table: 'payroll_policies',
  actions: ['policy.put'],
  subject: { resource: 'employer_id', employer: 'employer_id' },
};

/** Adds a version. A policy that is already the latest of its date changes nothing. */
export async function putPolicy(
  trx: Trx,
  employerId: string,
  { effective_from, ...options }: Policy,
  acting: Acting,
): Promise<void> {
  await lockPayroll(trx);
  const known = await readPolicies(trx, employerId);
  const latest = known.find((version) => version.effective_from === effective_from);
  if (latest !== undefined && OPTIONS.every((name) => isDeepStrictEqual(latest[name], options[name]))) return;
  const version = Math.max(0, ...known.map(({ version }) => version)) + 1;
  const row = { employer_id: employerId, version, effective_from, options: JSON.stringify(options) };
  const details = { version, effective_from, before: optionsOn(known, effective_from), after: options };
  await insertFacts(trx, POLICY_VERSION, [row], acting, { details });
}

export function optionsOn(policies: readonly PolicyVersion[], payDate: string): Options {
  return policies.find(({ effective_from }) => effective_from <= payDate) ?? DEFAULTS;
}
