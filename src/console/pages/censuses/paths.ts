/** Where an employer's census is. */
import { idLink, pathOf } from '../../elements/links.ts';
import type { Html } from '../../html.ts';

/** Here. */
export function employerPath(employerId: string): string {
  return `/census/${encodeURIComponent(employerId)}`;
}

/** In the API. */
export function censusPath(employerId: string): string {
  return `/v1/employers/${encodeURIComponent(employerId)}/census`;
}

/** The employer's id, as a link to its census. */
export function censusLink(employerId: string): Html {
  return idLink(pathOf('/census', employerId), employerId);
}
