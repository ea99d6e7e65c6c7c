/** Addresses of pages. Ids are chosen by payroll or the benefits service and may contain any character. */
import type { Scope } from '../../security/scopes.ts';
import { type Html, html } from '../html.ts';

export type Query = Readonly<Record<string, string | undefined>>;

/** Adds a query to a path, which may have one, without the parameters that are undefined or empty. */
export function address(path: string, query: Readonly<Record<string, unknown>>): string {
  const pairs = presentIn(query).flatMap(([name, value]) =>
    [value].flat().map((text) => [name, String(text)]),
  );
  return pairs.length === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams(pairs)}`;
}

/** Returns the parameters that are neither undefined nor empty. */
export function presentIn(query: object): [name: string, value: unknown][] {
  return Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
}

/** Returns whether an id can be part of a path. Browsers resolve `.` and `..` even when percent-encoded. */
export function fitsPath(id: string): boolean {
  return id !== '.' && id !== '..';
}

/** Returns `/employees/a%2Fb` for a folder and an id, or null for an id that does not fit in a path. */
export function pathOf(folder: string, id: string): string | null {
  return fitsPath(id) ? `${folder}/${encodeURIComponent(id)}` : null;
}

/** Renders an id, as a link where it has a path. */
export function idLink(path: string | null, id: string): Html {
  return path === null ? html`<span class="id">${id}</span>` : html`<a class="id" href=${path}>${id}</a>`;
}

const linksTo = (folder: string) => (id: string) => idLink(pathOf(folder, id), id);

/** Needs `ledger:read`. */
export const deductionLink = linksTo('/deductions');
/** Needs `events:read`. */
export const eventLink = linksTo('/events');
export const runLink = linksTo('/runs');
/** Links to the census of an employer. Needs `census:read`. */
export const censusLink = (id: string) => nameable('employer', id, idLink(pathOf('/census', id), id));

/** Needs `ledger:read`. An id without a page leads to its deductions. */
export function employeeLink(id: string): Html {
  const path = pathOf('/employees', id) ?? address('/ledger', { employee_id: id });
  return nameable('employee', id, idLink(path, id));
}

/** Renders an employee id, as a link for people who may open it. */
export function employeeOf(id: string, { may }: { may(scope: Scope): boolean }): Html {
  return may('ledger:read') ? employeeLink(id) : named('employee', id);
}

/** Renders an event id, as a link for people who may open it. */
export function eventOf(id: string, { may }: { may(scope: Scope): boolean }): Html {
  return may('events:read') ? eventLink(id) : idLink(null, id);
}

/** Links to the entries of an employer in a list, by default its deductions, which need `ledger:read`. */
export function employerLink(employer_id: string, list = '/ledger'): Html {
  return nameable('employer', employer_id, idLink(address(list, { employer_id }), employer_id));
}

export function changePath(id: string): string {
  return `/changes/${encodeURIComponent(id)}`;
}

export function censusPath(employerId: string): string {
  return `/census/${encodeURIComponent(employerId)}`;
}

export function cutOverPath(employerId: string, list = 'people'): string {
  return `/cut-over/${encodeURIComponent(employerId)}/${list}`;
}

/** A run's page, or a path below it. */
export function runPath(runId: string, below = ''): string {
  return `/runs/${encodeURIComponent(runId)}${below}`;
}

/** The form that overrides the amounts of a deduction in a run. Without `deduction`, the user chooses it there. */
export function overridePath(runId: string, deduction: Query = {}): string {
  return address(runPath(runId, '/override'), deduction);
}

/** The findings of a check on a run's page. */
export function findingPath(runId: string, checkId: string): string {
  return `${runPath(runId)}#check-${checkId}`;
}

export function runEmployeeLink(runId: string, employee_id: string): Html {
  return nameable('employee', employee_id, idLink(runEmployeePath(runId, employee_id), employee_id));
}

export function runEmployeePath(runId: string, employee_id: string): string {
  return `${address(runPath(runId), { employee_id })}#lines`;
}

/** The employees on a run's page, by default all employees. */
export function runEmployeesPath(runId: string, group: Query = { all: 'true' }): string {
  return `${address(runPath(runId), group)}#employees`;
}

export type Of = 'employee' | 'employer';

type Mark = { readonly of: Of; readonly id: string; readonly isAlone: boolean };

const MARKED = new WeakMap<object, Mark>();

/** Marks an element whose only content is an id, so that the name is shown with it; if `isAlone`, instead of it. */
export function nameable(of: Of, id: string, element: Html, isAlone = false): Html {
  MARKED.set(element, { of, id, isAlone });
  return element;
}

/** Renders the id of an employer or employee without a link, with its name. */
export function named(of: Of, id: string): Html {
  return nameable(of, id, html`<span>${id}</span>`);
}

/** Renders the name of an employer or employee as text, or the id of one without a name. */
export function nameIn(of: Of, id: string): Html {
  return nameable(of, id, html`${id}${null}`, true);
}

type Marked = readonly [Html, Mark];

export function* markedIn(content: unknown): Generator<Marked> {
  if (Array.isArray(content)) for (const part of content) yield* markedIn(part);
  else if (typeof content === 'object' && content !== null) {
    const marked = MARKED.get(content);
    if (marked !== undefined) yield [content as Html, marked];
    else yield* markedIn((content as Html).props?.children);
  }
}
