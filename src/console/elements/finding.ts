/** A finding of a readiness check, with a link to what it is about, and the page on which its check is fixed. */
import type { ResultOf } from '../../api/operation.ts';
import { type getReadiness, textsOfCheck } from '../../api/operations/readiness.ts';
import type { Place } from '../../checks.ts';
import type { Scope } from '../../security/scopes.ts';
import { type Html, html } from '../html.ts';
import type { Visit } from '../page.ts';
import { count as counted, lacksScope, sentence, withInstants } from './format.ts';
import * as links from './links.ts';

type Check = ResultOf<typeof getReadiness>['checks'][number];
export type Finding = Check['findings'][number];
export type Run = { readonly id: string; readonly employer_id: string };
export type Sight = Pick<Visit, 'may' | 'caller'>;

/** `ofAllEmployers`: the page refuses users who are limited to employers. */
type Page = { path: string; label: string; scope?: Scope; ofAllEmployers?: true };

const PAGES: Readonly<Record<Place, Page>> = {
  census: { path: '/census', label: 'Census', scope: 'census:read' },
  changes: { path: '/changes', label: 'Show all', scope: 'changes:read' },
  codes: { path: '/settings/payroll-codes', label: 'Set the payroll codes', scope: 'runs:write' },
  events: { path: '/events', label: 'Events', scope: 'events:read', ofAllEmployers: true },
  items: { path: '/open-items', label: 'Decide about open items' },
  ledger: { path: '/ledger', label: 'Show all', scope: 'ledger:read' },
  lines: { path: '', label: 'Show all' },
  operations: {
    ...{ path: '/operations', label: 'Readiness of all employers' },
    ...{ scope: 'ledger:read', ofAllEmployers: true },
  },
  settings: { path: '/settings', label: 'Payroll settings' },
};

/** Returns where a check is fixed: a link to its findings, or why the user cannot follow it. */
export function placeOf(
  checkId: string,
  { may, caller }: Sight,
  run?: Run,
): { link: Html | null; obstacle: string | null } {
  const { fixed: { at, query } = {}, flag } = textsOfCheck(checkId);
  if (at === undefined) return { link: null, obstacle: null };
  const { scope, ofAllEmployers = false, ...page } = PAGES[at];
  if (ofAllEmployers && caller?.employers != null)
    return { link: null, obstacle: 'To fix this, ask an operator: you are limited to employers.' };
  if (scope !== undefined && !may(scope)) return { link: null, obstacle: lacksScope('To fix this', scope) };
  if (query === undefined) return { link: null, obstacle: null };
  const label = at === 'events' && Object.keys(query).length > 0 ? 'Show all' : page.label;
  const path = pathOf(at, page.path, query, flag, run);
  return { link: html`<a class="on-screen" href=${path}>${label}</a>`, obstacle: null };
}

function pathOf(
  at: Place,
  path: string,
  query: Readonly<Record<string, string>>,
  flag: string | undefined,
  run: Run | undefined,
): string {
  if (run === undefined) return links.address(path, query);
  const { id, employer_id } = run;
  if (at === 'lines') return links.runEmployeesPath(id, { flag });
  if (at === 'census') return links.address(links.censusPath(employer_id), { run: id });
  const ofEmployer = at === 'events' || at === 'operations' ? {} : { employer_id };
  return links.address(path, { ...query, ...ofEmployer, run: id });
}

type Unapplied = Pick<NonNullable<Check['unapplied']>[number], 'event_id' | 'message'>;

/** Renders the sentence of a finding with a link to its subject. `unapplied`: the amounts that events of findings would change. */
export function findingIn(
  finding: Finding,
  sight: Sight,
  run?: Run,
  unapplied: readonly Unapplied[] = [],
): Html {
  const { text, count = 0 } = finding;
  if (text === undefined) return html`<span>${`${counted(count)} that you may not see`}</span>`;
  const [id, link] = subjectOf(finding, text, sight, run) ?? ['', ''];
  const rest = text.slice(id.length);
  const { event_id, employee_id = '', employee_ids = [] } = finding;
  const list = employee_ids.join(', ');
  const at = list === '' ? -1 : rest.lastIndexOf(list);
  if (at !== -1) {
    const employees = employee_ids.map((employee, index) => [
      index > 0 && ', ',
      links.employeeOf(employee, sight),
    ]);
    return html`<span>${link}${sentence(rest.slice(0, at))}${employees}${rest.slice(at + list.length)}</span>`;
  }
  // After an event, a finding names the employee, whose name the page may show.
  const named = `: ${employee_id}`;
  if (id !== event_id || employee_id === '' || !(rest === named || rest.startsWith(`${named}, `)))
    return html`<span>${link}${withInstants(sentence(rest))}</span>`;
  const change = unapplied.find((amount) => amount.event_id === event_id);
  const what = change === undefined ? rest.slice(named.length) : `: ${change.message}`;
  return html`<span>${link}: ${links.named('employee', employee_id)}${withInstants(sentence(what))}</span>`;
}

/** Returns the id with which a sentence begins, and its link; null if it begins with none. */
function subjectOf(finding: Finding, text: string, { may, caller }: Sight, run?: Run): [string, Html] | null {
  const { event_id, change_id, run_id, employee_id, employer_id } = finding;
  const isUnlimited = caller?.employers == null;
  const linkTo = (path: string | null, mayOpen: boolean, shown: string) =>
    links.idLink(mayOpen && path !== null ? links.address(path, { run: run?.id }) : null, shown);
  const eventLink = (id: string) =>
    linkTo(links.pathOf('/events', id), isUnlimited && may('events:read'), id);
  // People know a change by its employee.
  const changeLink = (id: string) => {
    const link = linkTo(links.changePath(id), may('changes:read'), employee_id ?? id);
    return employee_id === undefined ? link : links.nameable('employee', employee_id, link);
  };
  const runLink = (id: string) => (may('runs:read') ? links.runLink(id) : links.idLink(null, id));
  const employeeLink = (id: string) =>
    run === undefined ? links.employeeOf(id, { may }) : links.runEmployeeLink(run.id, id);
  const employerLink = (id: string) =>
    links.nameable('employer', id, linkTo(links.pathOf('/census', id), may('census:read'), id));
  const subjects: [string | undefined, (id: string) => Html][] = [
    [event_id, eventLink],
    [change_id, changeLink],
    [run_id, runLink],
    [employee_id, employeeLink],
    [employer_id, employerLink],
  ];
  for (const [id, linkOf] of subjects)
    if (id !== undefined && (text === id || text.startsWith(`${id}: `))) return [id, linkOf(id)];
  return null;
}

/** Links the action that fixes an open finding; null without one, or for a user who may not do it. */
export function actionOn(
  { check, employee_id, deduction_id }: Finding,
  { may }: Sight,
  run?: Run,
): Html | null {
  const { action } = textsOfCheck(check).fixed ?? {};
  if (action === 'override' && run !== undefined && employee_id !== undefined && may('runs:write')) {
    return html`<a class="on-screen" href=${links.overridePath(run.id, { employee_id })}>Override one of them<span class="hidden-label">${` for ${employee_id}`}</span></a>`;
  }
  if (action !== 'assign' || deduction_id === undefined) return null;
  return assignLink(deduction_id, { may }, run?.id);
}

/** Links the form that assigns a deduction to an employer; null for a user who may not open it. */
export function assignLink(
  deduction_id: string,
  { may }: Pick<Sight, 'may'>,
  run: string | undefined,
): Html | null {
  const path = links.pathOf('/deductions', deduction_id);
  if (path === null || !may('ledger:read')) return null;
  return html`<a class="on-screen" href=${links.address(path, { assign: 'true', run })}>Assign it<span class="hidden-label">${` (${deduction_id})`}</span></a>`;
}
