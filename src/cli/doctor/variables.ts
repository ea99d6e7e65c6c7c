/** Variables that look like ours by their prefix but are never read. */
import { type Environment, given } from '../../environment.ts';
import { type Finding, pass, warn } from './finding.ts';
import { VARIABLES } from './settings.ts';

const ID = 'variables';
/** Prefixes that only this program uses. `API_`, `DATABASE_`, `DATA_` and `LOG_` are common in other programs' names. */
const PREFIXES = ['BENEFITS_', 'CENSUS_', 'EVENTS_', 'RECEIVER_', 'RETENTION_', 'WEBHOOK_'];
/** Kubernetes sets variables with this prefix for a Service named benefits-sidecar. */
const SERVICE_LINKS = 'BENEFITS_SIDECAR_';

/** Warns about variables with one of our prefixes that are never read. Values are not shown: they may be secrets. */
export function checkUnknown(env: Environment): Finding {
  const unknown = Object.keys(env).filter(
    (name) =>
      given(env, name) !== undefined &&
      !VARIABLES.includes(name) &&
      !name.startsWith(SERVICE_LINKS) &&
      PREFIXES.some((prefix) => name.toUpperCase().startsWith(prefix)),
  );
  if (unknown.length === 0) return pass(ID, 'every variable with one of our prefixes is known');
  return warn(
    ID,
    `set but never read: ${unknown.join(', ')}`,
    'Fix the name, or ignore this if another program reads the variable.',
  );
}
