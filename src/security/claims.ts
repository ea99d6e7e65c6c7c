/** Reads who a person is, and what they may do, from the claims of an OpenID Connect provider. */
import { hash } from 'node:crypto';
import { configError } from '../environment.ts';
import type { ProviderConfig } from '../sign-in-config.ts';
import { ROLE_NAMES, ROLES, type Role, SCOPES, type Scope } from './scopes.ts';
import { type Identity, isPerson, personOf, TOKEN_EMPLOYERS_MAX } from './tokens.ts';

/** A person who signed in with OpenID Connect, and what the person may do. `employers` is null for all of them. */
export type SignedInPerson = Identity & {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly employers: readonly string[] | null;
  /** The `signInRules` that decided this. */
  readonly rules: string;
};

/** Maximum length of a value; employer ids are at most as long. */
const VALUE_MAX_CHARACTERS = 255;
/** Names appear on pages and in records. */
const NAME_MAX_CHARACTERS = 100;
/** Maximum number of values read of one claim. Providers send at most a few hundred groups. */
const VALUES_MAX = 1_000;

/** The employers claim of a person who may see all employers. */
const ALL_EMPLOYERS = '*';

export type RefusedClaims = 'invalid' | 'no-role' | 'no-employer' | 'too-many-employers';

/** Returns the person whom the claims describe, or why the person has no access. */
export function readClaims(
  claims: Readonly<Record<string, unknown>>,
  provider: ProviderConfig,
): SignedInPerson | { cause: RefusedClaims; code: string } {
  const { issuer, roleClaim, roles, employerClaim } = provider;
  const identity = { issuer, subject: String(claims.sub) };
  if (!isPerson(personOf(identity))) return { cause: 'invalid', code: 'BAD_SUBJECT' };
  const named = new Set(valuesOf(claims[roleClaim]).flatMap((value) => roles.get(value) ?? []));
  if (named.size === 0) return { cause: 'no-role', code: 'NO_ROLE' };
  const employers = employerClaim === null ? [ALL_EMPLOYERS] : valuesOf(claims[employerClaim]);
  if (employers.length === 0) return { cause: 'no-employer', code: 'NO_EMPLOYER' };
  const limit = employers.includes(ALL_EMPLOYERS) ? null : [...new Set(employers)].sort();
  if (limit !== null && limit.length > TOKEN_EMPLOYERS_MAX) {
    return { cause: 'too-many-employers', code: 'TOO_MANY_EMPLOYERS' };
  }
  return {
    ...identity,
    name: nameOf(claims) ?? identity.subject,
    scopes: scopesOf([...named].filter(isRole)),
    employers: limit,
    rules: signInRules(provider),
  };
}

/**
 * Returns a hash of the settings that decide who may sign in and what they may do, with the scopes of the roles, which a
 * release may change. A session lasts while they stay the same.
 */
export function signInRules({ issuer, clientId, roleClaim, roles, employerClaim }: ProviderConfig): string {
  const permitted = [...roles].map(([value, names]) =>
    JSON.stringify([value, scopesOf(names.filter(isRole))]),
  );
  const rules = [issuer, clientId, roleClaim, employerClaim, permitted.sort()];
  return hash('sha256', JSON.stringify(rules), 'hex');
}

/** Throws CONFIG if `OIDC_ROLES` names a role that does not exist. */
export function assertRoles({ roles }: Pick<ProviderConfig, 'roles'>): void {
  const unknown = [...roles.values()].flat().find((name) => !isRole(name));
  if (unknown === undefined) return;
  throw configError('OIDC_ROLES', `has the unknown role ${unknown}: the roles are ${ROLE_NAMES.join(', ')}`);
}

function isRole(name: string): name is Role {
  return Object.hasOwn(ROLES, name);
}

function scopesOf(roles: readonly Role[]): Scope[] {
  const permitted = new Set<Scope>(roles.flatMap((role) => ROLES[role]));
  return SCOPES.filter((scope) => permitted.has(scope));
}

/** Returns the texts of a claim, which is one text or a list of them. */
function valuesOf(claim: unknown): string[] {
  return [claim]
    .flat()
    .slice(0, VALUES_MAX)
    .filter((value): value is string => typeof value === 'string')
    .filter((value) => value !== '' && value.length <= VALUE_MAX_CHARACTERS);
}

/** Returns the name to show, in one line without control characters. */
function nameOf(claims: Readonly<Record<string, unknown>>): string | null {
  for (const claim of ['name', 'preferred_username', 'email']) {
    const text = claims[claim];
    const name = typeof text === 'string' ? text.replace(/[\p{C}\s]+/gu, ' ').trim() : '';
    if (name !== '') return [...name].slice(0, NAME_MAX_CHARACTERS).join('');
  }
  return null;
}
