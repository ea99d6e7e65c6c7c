/** The permissions of a token: scopes, and roles as named sets of them. */

/** What each scope allows. `all` includes every other scope, also future ones. */
export const SCOPE_MEANINGS = {
  'ledger:read':
    'read deductions, versions, the change feed and readiness; see an employee, and amounts that are not applied',
  'runs:read': 'see payroll runs, lines, schedules and codes; preview, verify and audit runs',
  'runs:write':
    'create, finalize and delete runs; report amounts taken; import deductions of an employer; set schedules, codes and file formats',
  'runs:approve': 'accept readiness findings, void runs, and give and require second approvals',
  'census:read': 'see census syncs and the size and age of staged censuses',
  'census:write': 'stage, validate and sync a census; dismiss a sync',
  'changes:read': 'see employment changes and attempts, without their contents',
  'changes:write': 'report, retry, cancel and release employment changes',
  'events:read': 'see events with their bodies',
  'events:write': 'reprocess and dismiss events, import deductions of any employer',
  'audit:read': 'read audit records',
  'names:read':
    'see the names of employees. One audit record a day says that names of an employer were shown',
  'pii:read':
    'everything of `names:read`, and also see the contents of censuses, changes and rejections, with SSNs cut to four digits except in a staged census, and compare a census with the last upload by field. Each read is recorded',
  'metrics:read': 'read the metrics and the activity, which contain no ids',
  all: 'everything, including routes of later releases',
} as const;
export type Scope = keyof typeof SCOPE_MEANINGS;

/** The scopes that a token may have. */
export const SCOPES = Object.keys(SCOPE_MEANINGS) as [Scope, ...Scope[]];

const MONTHLY_WORK = [
  'ledger:read',
  'runs:read',
  'runs:write',
  'census:read',
  'census:write',
  'changes:read',
  'changes:write',
] as const satisfies readonly Scope[];

/** The scopes of each role, which a token gets when it is created. No role includes `pii:read`. */
export const ROLES = {
  'payroll-specialist': [...MONTHLY_WORK, 'names:read', 'events:read', 'metrics:read'],
  'payroll-manager': [
    ...MONTHLY_WORK,
    'names:read',
    'runs:approve',
    'events:read',
    'audit:read',
    'metrics:read',
  ],
  operator: [
    'ledger:read',
    'runs:read',
    'census:read',
    'census:write',
    'changes:read',
    'changes:write',
    'names:read',
    'events:read',
    'events:write',
    'audit:read',
    'metrics:read',
  ],
  auditor: ['ledger:read', 'runs:read', 'census:read', 'changes:read', 'events:read', 'audit:read'],
  integration: MONTHLY_WORK,
} as const satisfies Readonly<Record<string, readonly Scope[]>>;
export type Role = keyof typeof ROLES;
export const ROLE_NAMES = Object.keys(ROLES) as Role[];

export function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

export function allows(scopes: readonly Scope[], scope: Scope): boolean {
  const isPart = scope === 'names:read' && scopes.includes('pii:read');
  return isPart || scopes.includes(scope) || scopes.includes('all');
}

/** Returns the role with exactly these scopes, or null. */
export function roleOf(scopes: readonly Scope[]): Role | null {
  const named = new Set(scopes);
  const isSame = (role: Role) =>
    ROLES[role].length === named.size && ROLES[role].every((scope) => named.has(scope));
  return ROLE_NAMES.find(isSame) ?? null;
}
