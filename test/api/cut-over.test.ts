/** Payroll's lists before the first run, read through the employer's file formats. */
import { census } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { setCodes } from '../support/payroll.ts';
import { start } from './start.ts';

const EMPLOYER = '/v1/employers/acme';
const TYPE = { 'content-type': 'text/csv' };

onEitherEngine('lists are read through the file formats of a census and of deductions', async (t) => {
  const { call, db } = await start(t);
  await call({ method: 'PUT', url: `${EMPLOYER}/census`, body: census });
  await setCodes(db, [
    { line_of_coverage: 'medical', taxability: 'pre_tax', side: 'employee', code: 'MED', treatment: null },
  ]);
  const compare = (list: string, ...rows: string[]) =>
    call({ method: 'POST', url: `${EMPLOYER}/cut-over/${list}`, headers: TYPE, body: rows.join('\n') });
  const put = (kind: string, columns: object, more: object = {}) =>
    call({
      ...{ method: 'PUT', url: `${EMPLOYER}/file-formats/${kind}` },
      body: {
        ...{
          columns: Object.entries(columns).map(([header, field]) => ({ header, field })),
          id_prefix: 'e-',
        },
        ...more,
      },
    });
  const columns = {
    'Emp No': 'employee_id',
    'Ded Code': 'payroll_code',
    Cost: 'member_contribution',
    Plan: null,
  };
  const constants = { period: 'monthly', employer_contribution: '0' };
  t.match(await put('deductions', columns, { constants }), { status: 200 });
  const employee_id = census.employees[0]!.employee_id;
  t.match(await compare('deductions', 'Emp No,Ded Code,Cost,Plan', '9,MED,12.00,Gold'), {
    ...{ status: 200, json: { rows: 1, unknown_employees: 1, repairs: { rows: 1, header_line: 1 } } },
  });
  t.match(await compare('deductions', 'Emp No,Code', '9,MED'), { status: 422, text: /propose a format/ });
  t.match(await compare('people', 'employee_id', employee_id), {
    status: 200,
    json: { same: 1, repairs: null },
  });
});
