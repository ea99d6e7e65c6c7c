/** The permissions of a token: scopes, and roles as named sets of them. */

/** The scopes that a token may have. `all` includes every other scope, also future ones. */
export const SCOPES = [
  'ledger:read',
  'runs:read',
  'runs:write',
  'runs:approve',
  'census:read',
  'census:write',
  'changes:read',
  'changes:write',
  'events:read',
  'events:write',
  'audit:read',
  'pii:read',
  'metrics:read',
  'all',
] as const;
export type Scope = (typeof SCOPES)[number];

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
  'payroll-specialist': [...MONTHLY_WORK, 'events:read', 'metrics:read'],
  'payroll-manager': [...MONTHLY_WORK, 'runs:approve', 'events:read', 'audit:read', 'metrics:read'],
  operator: [
    'ledger:read',
    'runs:read',
    'census:read',
    'census:write',
    'changes:read',
    'changes:write',
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
  return scopes.includes(scope) || scopes.includes('all');
}

/** Returns the role with exactly these scopes, or null. */
export function roleOf(scopes: readonly Scope[]): Role | null {
  const named = new Set(scopes);
  const isSame = (role: Role) =>
    ROLES[role].length === named.size && ROLES[role].every((scope) => named.has(scope));
  return ROLE_NAMES.find(isSame) ?? null;
}
