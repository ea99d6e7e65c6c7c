/** People: the employees of an employer, past and present. The search finds one by name. */
import type { RowOf } from '../../api/operation.ts';
import { listEmployees } from '../../api/operations/employees.ts';
import { empty, state } from '../elements/facts.ts';
import { dayOf } from '../elements/format.ts';
import { address, employeeLink, employerLink } from '../elements/links.ts';
import { table } from '../elements/list.ts';
import { html } from '../html.ts';
import type { Console } from '../page.ts';
import { EMPLOYER_FILTER, readList } from './employers.ts';

type Employee = RowOf<typeof listEmployees>;

const PATH = '/people';

export function peoplePages({ page }: Console): void {
  page(PATH, 'ledger:read', async (visit) => {
    const { data, filter, form, pages } = await readList(visit, PATH, listEmployees, [EMPLOYER_FILTER]);
    const advice = html`<p>Employees appear here once a census or a hire names them.</p>`;
    const body = html`
      <p>${'The search above finds a person by name. '}<a href=${address('/ledger', filter)}>All deductions</a></p>
      ${form}
      ${data.length === 0 ? empty('No employees', advice) : table(data, { caption: 'Employees by ID', captionHidden: true }, columns(visit.today))}
      ${pages}
    `;
    return { title: 'People', body };
  });
}

function columns(today: string) {
  return [
    ['Employee', ({ id }: Employee) => employeeLink(id), 'name'],
    ['Employer', ({ employer_id }: Employee) => employerLink(employer_id)],
    ['Hired', ({ hire_date }: Employee) => dayOf(hire_date), 'date'],
    ['Left', (employee: Employee) => leftOf(employee, today), 'date'],
    ['Pay frequency', ({ pay_frequency }: Employee) => pay_frequency],
    ['Pay group', ({ pay_group }: Employee) => pay_group],
  ] as const;
}

function leftOf({ termination_date, absent }: Employee, today: string) {
  if (termination_date === null) return absent ? state('not in the census', 'warn') : null;
  return termination_date < today
    ? dayOf(termination_date)
    : html`<span>${'leaves '}${dayOf(termination_date)}</span>`;
}
