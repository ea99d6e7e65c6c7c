import { report } from '../employment/stage.ts';
import { encryptor } from '../outbox/parts.ts';
import { onEitherEngine } from '../support/engine.ts';
import { EMPLOYER, employ, NOW, taken } from '../support/payroll.ts';
import { deductionOf, deliver } from './deliver.ts';
import { PAY_DATE, startPayroll } from './payroll-stage.ts';
import { type Running, start } from './start.ts';

const EMPLOYEES = '/v1/employees';
const clock = () => NOW;

const show = async ({ call }: Running, id: string, token?: string) =>
  call({ url: `${EMPLOYEES}/${encodeURIComponent(id)}`, ...(token !== undefined && { token }) });

onEitherEngine(
  'an employee is shown with the history of the roster, deductions, changes and arrears',
  async (t) => {
    const payroll = await startPayroll(t, { encryptor });
    const { db, finalized } = payroll;
    const move = await report(db, 'demographic', 'emp-1', { clock });
    const fields = { termination_date: '2026-08-31' };
    const leaves = await report(db, 'termination', 'emp-1', { clock, fields });
    await finalized('r', { pay_date: PAY_DATE });
    await taken(db, 'r', { employee_id: 'emp-1', amount: '60.00' });
    const { status, json } = await show(payroll, 'emp-1');
    t.equal(status, 200);
    t.match(json, { id: 'emp-1', employer_id: EMPLOYER, left_out: [] });
    t.match(json.roster, [
      {
        employer_id: EMPLOYER,
        termination_date: null,
        absent: false,
        source: 'census',
        pay_frequency: 'biweekly',
      },
      { termination_date: '2026-08-31', source: 'termination', source_id: leaves, pay_frequency: null },
    ]);
    t.ok(json.roster[0].position < json.roster[1].position, 'in order of positions');
    t.match(json.deductions, {
      data: [{ id: 'ded-1', member_contribution: '150.00', employer_id: EMPLOYER, version: 1 }],
      has_more: false,
      next_cursor: null,
      url: '/v1/deductions?employee_id=emp-1',
    });
    t.match(json.changes, {
      data: [{ id: leaves }, { id: move }],
      has_more: false,
      next_cursor: null,
      url: '/v1/employee-changes?employee_id=emp-1',
    });
    t.match(json.arrears, [
      {
        employer_id: EMPLOYER,
        run_id: 'r',
        deduction_id: 'ded-1',
        line_of_coverage: 'medical',
        amount: '9.23',
        explanation: 'run r: 69.23 finalized - 60.00 taken = 9.23',
      },
    ]);
    t.match((await show(payroll, 'emp-2')).json, { arrears: [], changes: { data: [] } });
  },
);

onEitherEngine('a token sees the parts it has scopes for, and the names of the others', async (t) => {
  const payroll = await startPayroll(t, { encryptor });
  await report(payroll.db, 'demographic', 'emp-1', { clock });
  const some = await show(payroll, 'emp-1', await payroll.tokenWith('ledger:read', 'runs:read'));
  t.strictSame(some.json.left_out, [{ part: 'changes', scope: 'changes:read' }]);
  t.notOk('changes' in some.json);
  t.strictSame(some.json.arrears, []);
  const least = await show(payroll, 'emp-1', await payroll.tokenWith('ledger:read'));
  t.strictSame(
    least.json.left_out.map((one: { part: string }) => one.part),
    ['changes', 'arrears'],
  );
  t.notOk('arrears' in least.json);
  t.equal((await show(payroll, 'emp-1', await payroll.tokenWith('changes:read', 'runs:read'))).status, 403);
});

onEitherEngine('any payroll id is found, percent-encoded', async (t) => {
  const running = await start(t, { encryptor });
  for (const id of ['a/b', 'a b', 'a.b', '..x', 'Zoë 🙂', '50%', 'a+b', "o'neill", 'a\\b', '%2F', 'x?y#z']) {
    await employ(running.db, id);
    const { status, json } = await show(running, id);
    t.equal(status, 200, id);
    t.equal(json.id, id);
    t.equal(json.deductions.url, `/v1/deductions?employee_id=${encodeURIComponent(id)}`);
    t.equal((await running.call({ url: json.changes.url })).status, 200);
  }
});

onEitherEngine('an employee with a fact, a deduction or a change is known; any other is 404', async (t) => {
  const running = await start(t, { encryptor });
  const { db, tokenWith } = running;
  await deliver(db, [deductionOf('evt-1', { employee_id: 'deducted' })]);
  await report(db, 'demographic', 'moved');
  t.match((await show(running, 'deducted')).json, {
    employer_id: null,
    roster: [],
    deductions: { data: [{ employer_id: null }] },
  });
  t.match((await show(running, 'moved')).json, { roster: [], changes: { data: [{}] } });
  t.equal((await show(running, 'nobody')).status, 404);
  t.equal(
    (await show(running, 'moved', await tokenWith('ledger:read'))).status,
    404,
    'the token may see no part',
  );
});

onEitherEngine(
  'the first of many deductions and changes are shown, and cursors continue their lists',
  async (t) => {
    const running = await start(t, { encryptor });
    const { db, call } = running;
    const many = Array.from({ length: 130 }, (_, index) => index);
    await deliver(
      db,
      many.map((index) => deductionOf(`evt-${index}`, { id: `d-${index}`, employee_id: 'e' })),
    );
    for (const _ of many.slice(0, 101)) await report(db, 'demographic', 'e');
    const { json } = await show(running, 'e');
    for (const [part, left] of [
      ['deductions', 30],
      ['changes', 1],
    ] as const) {
      const { data, next_cursor, url } = json[part];
      t.equal(data.length, 100);
      t.equal((await call({ url: `${url}&cursor=${next_cursor}` })).json.data.length, left, part);
    }
  },
);
