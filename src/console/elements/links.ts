/** Links from one thing to another, by their ids. Ids are payroll's or the service's own texts and may hold anything. */
import { type Content, type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { address } from './pager.ts';

/** Browsers and servers take these two for steps in a path, percent-encoded or not. */
const STEPS: readonly string[] = ['.', '..'];

/** Whether an id can be a part of an address. The API can't be asked about one that can't. */
export function canStandInPath(id: string): boolean {
  return !STEPS.includes(id);
}

/** `/employees/a%2Fb` of a folder and an id; null for an id that can't stand in a path. */
export function pathOf(folder: string, id: string): string | null {
  return canStandInPath(id) ? `${folder}/${encodeURIComponent(id)}` : null;
}

/** Where a deduction is shown. Needs the scope `ledger:read`. */
export function deductionLink(id: string): Html {
  return idLink(pathOf('/deductions', id), id);
}

/** Where an employee is shown: an id that has no page of its own leads to its deductions. Needs `ledger:read`. */
export function employeeLink(id: string): Html {
  return idLink(pathOf('/employees', id) ?? address('/ledger', { employee_id: id }), id);
}

/** The employee, with a link for who may see the page. */
export function employeeOf(id: string, { may }: Pick<Visit, 'may'>): Content {
  return may('ledger:read') ? employeeLink(id) : id;
}

/** Needs `events:read`. */
export function eventLink(id: string): Html {
  return idLink(pathOf('/events', id), id);
}

/** Deductions of an employer's employees. Needs `ledger:read`. */
export function employerLink(id: string): Html {
  return idLink(address('/ledger', { employer_id: id }), id);
}

/** An id as it is, where it leads somewhere as a link. */
export function idLink(path: string | null, id: string): Html {
  return path === null ? html`<span class="id">${id}</span>` : html`<a class="id" href=${path}>${id}</a>`;
}
