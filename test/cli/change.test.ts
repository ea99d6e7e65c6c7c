import type { Test } from 'tap';
import { placeOf } from '../../src/outbox/queue.ts';
import { createEncryptor } from '../../src/security/encryption.ts';
import { compensationChange, demographic, newHire, termination } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { DATA_KEY, here, jsonOf, type Terminals, withDatabase } from './harness.ts';
import { filesOf } from './payroll-stage.ts';

/** Appears in no output. */
const MARKER = 'Marker-7f3a';
const SSN = '987-65-4321';

const SAMPLES = {
  'new-hire': { ...newHire, first_name: MARKER, ssn: SSN },
  termination,
  demographic,
  'compensation-change': compensationChange,
} as const;

async function stage(t: Test) {
  const { env, db } = await withDatabase(t);
  const file = filesOf(t);
  const change = (...argv: string[]) => here(t, env, ['change', ...argv]);
  return {
    ...{ env, db, file, change },
    /** Reports the changes in a file with this content. */
    report: (kind: string, name: string, content: string, more: string[] = [], terminals: Terminals = {}) =>
      here(t, env, ['change', kind, file(name, content), ...more], terminals),
    list: async (...filter: string[]) => jsonOf(await change('list', '--json', ...filter)).data,
    /** The decrypted requests of the outbox, in order. */
    async bodies(): Promise<Record<string, unknown>[]> {
      const [id = '', key = ''] = DATA_KEY.split(':');
      const encryptor = createEncryptor([{ id, key: Buffer.from(key, 'base64') }]);
      const rows = await db.selectFrom('outbox').select(['request_id', 'body']).orderBy('seq').execute();
      return rows.map(({ request_id, body }) =>
        JSON.parse(encryptor.decrypt(body as Buffer, placeOf(request_id, 'body')).toString('utf8')),
      );
    },
  };
}

const test = onEitherEngine.with(stage);

const lines = (...rows: string[]) => `${rows.join('\r\n')}\r\n`;

test('a file has one change, a list, or one change per line', async (t, { report, bodies }) => {
  const expected: object[] = [];
  for (const [kind, sample] of Object.entries(SAMPLES)) {
    const second = { ...sample, employee_id: 'emp-2' };
    const accepted = { code: 0, stdout: '1 change: 1 accepted, 0 already reported\n' };
    const ran = await report(kind, 'one.json', JSON.stringify(sample));
    t.match(ran, { ...accepted, stderr: /The sidecar sends them now/ });
    await report(kind, 'list.json', JSON.stringify([sample, second]));
    await report(kind, 'lines.ndjson', `${JSON.stringify(sample)}\n\n${JSON.stringify(second)}\n`);
    expected.push(sample, sample, second, sample, second);
  }
  t.strictSame(await bodies(), expected);
});

test('a CSV has a column for each field path, and an empty cell is an absent field', async (t, world) => {
  const { report, bodies } = world;
  const accepted = (count: number) => ({
    code: 0,
    stdout: `${count} changes: ${count} accepted, 0 already reported\n`,
  });
  const ends = lines('employee_id,termination_date', 'e-1,2028-02-29', 'e-2,2026-03-31');
  t.match(await report('termination', 'a.csv', ends), accepted(2));
  const moves = lines(
    'employee_id,address.line1,address.line2,address.city,address.state,address.zip_code',
    'e-1,1 Main Street,,Albany,NY,12207',
    'e-2,"2, Side Street",Apt 3,Albany,NY,12207',
  );
  t.match(await report('demographic', 'b.csv', moves), accepted(2));
  const raises = lines(
    'employee_id,pay_frequency,pay_rate.amount,pay_rate.period,pay_rate.effective_start,employment_status',
    'e-1,,30.00,hourly,2026-04-01,',
    'e-2,monthly,,,,variable_hours',
  );
  t.match(await report('compensation-change', 'c.csv', raises), accepted(2));
  const { address, pay_rate, ...flat } = newHire;
  const inner = { address, 'pay_rate[0]': pay_rate[0] };
  const nested = Object.entries(inner).flatMap(([path, fields]) =>
    Object.entries(fields ?? {}).map(([name, value]) => [`${path}.${name}`, value]),
  );
  const cells = [...Object.entries(flat), ...nested];
  const hires = lines(cells.map(([path]) => path).join(), cells.map(([, value]) => value).join());
  t.match(await report('new-hire', 'd.csv', hires), { code: 0 });
  const albany = { city: 'Albany', state: 'NY', zip_code: '12207' };
  t.strictSame(await bodies(), [
    { employee_id: 'e-1', termination_date: '2028-02-29' },
    { employee_id: 'e-2', termination_date: '2026-03-31' },
    { employee_id: 'e-1', address: { line1: '1 Main Street', ...albany } },
    { employee_id: 'e-2', address: { line1: '2, Side Street', line2: 'Apt 3', ...albany } },
    { employee_id: 'e-1', pay_rate: { amount: '30.00', period: 'hourly', effective_start: '2026-04-01' } },
    { employee_id: 'e-2', pay_frequency: 'monthly', employment_status: 'variable_hours' },
    newHire,
  ]);
});

test('the same file again changes nothing, and another prefix reports it again', async (t, world) => {
  const { report, list } = world;
  const content = JSON.stringify([compensationChange, compensationChange]);
  const send = (...more: string[]) => report('compensation-change', 'a.json', content, more);
  const first = jsonOf(await send('--json'));
  t.match(first, { changes: 2, accepted: 2, repeated: 0, conflicts: 0 });
  t.match(first.results[1], { path: 'changes[1]', outcome: 'accepted' });
  const stdout = '2 changes: 0 accepted, 2 already reported\n';
  t.match(await send(), { code: 0, stdout, stderr: /set another --key-prefix/ });
  t.equal((await list()).length, 2);
  t.match(await send('--key-prefix', 'in-may'), { stdout: /2 accepted/ });
  t.match(await send('--key-prefix', 'in-may'), { stdout: /2 already reported/ });
  t.equal((await list()).length, 4);
});

test('a row whose key was used for another change is named', async (t, { report, list }) => {
  const prefix = ['--key-prefix', 'in-may'];
  const other = { ...termination, termination_date: '2026-04-30' };
  await report('termination', 'a.json', JSON.stringify([termination]), prefix);
  const ran = await report('termination', 'b.json', JSON.stringify([other, termination]), prefix);
  t.equal(ran.code, 1);
  t.match(ran.stdout, '2 changes: 1 accepted, 0 already reported');
  t.match(ran.stderr, /changes\[0\]\.idempotency_key: was already used for a different change/);
  t.equal((await list()).length, 2);
});

test('one wrong row rejects the file, with each row and field named', async (t, { report, list }) => {
  const wrong = [
    demographic,
    { ...demographic, employee_id: '', address: { ...demographic.address, state: MARKER } },
    { ...demographic, [`${MARKER} ${SSN}`]: 'x', nickname: MARKER },
    [MARKER],
  ];
  for (const [name, content] of [
    ['a.json', JSON.stringify(wrong)],
    ['a.ndjson', `${wrong.map((one) => JSON.stringify(one)).join('\n')}\n{"${MARKER}`],
  ] as const) {
    const { code, stdout, stderr } = await report('demographic', name, content);
    t.strictSame([code, stdout], [1, '']);
    for (const line of [
      ...['The file contains invalid rows:', 'changes[2].nickname: is not a field'],
      ...['changes[1].employee_id: must have at least 1 character', 'changes[2][…]: is not a field'],
      ...[
        'changes[1].address.state: must be the code of one of the 50 states or DC: the service accepts no others',
        'changes[3]: must be an object',
      ],
    ])
      t.ok(stderr.includes(line), line);
    t.notMatch(stderr, /Marker|4321/);
    t.strictSame(await list(), []);
  }
});

const WITH_NOTE = JSON.stringify({ changes: [termination], note: 1 });

const UNUSABLE = {
  'a.csv': ['employee_id,ended_on\ne,x\n', /column 2: is not a column of a/],
  'b.csv': ['employee_id,termination_date\ne,"2026\n', /changes\[0\]: .* at line 2 .*find the quote/],
  'a.json': ['[]', /changes: must have at least 1 element/],
  'b.json': [WITH_NOTE, /note: is not/],
} as const;
test('an unusable file is rejected in one line', async (t, { report, list }) => {
  for (const [name, [content, stderr]] of Object.entries(UNUSABLE)) {
    t.match(await report('termination', name, content), { code: 1, stdout: '', stderr }, String(stderr));
    t.strictSame(await list(), []);
  }
});

test('many changes are accepted, with progress on a terminal', async (t, { report, list }) => {
  const rows = Array.from({ length: 1_203 }, (_, index) => `e-${index},2026-03-31`);
  const content = lines('employee_id,termination_date', ...rows);
  const ran = await report('termination', 'a.csv', content, [], { isTTY: true });
  t.match(ran, { code: 0, stdout: /1203 accepted/ });
  t.match(ran.stderr, /changes .*1203\/1203/);
  t.equal((await report('termination', 'a.csv', content)).stderr.includes('1203/1203'), false);
  t.equal((await list('--limit', '1000')).length, 1_000);
});

test('a stopped report ends with 1, and the same file again continues it', async (t, { report }) => {
  const rows = Array.from({ length: 600 }, (_, index) => `e-${index},2026-03-31`);
  const content = lines('employee_id,termination_date', ...rows);
  const stopping = new AbortController();
  const running = report('termination', 'a.csv', content, [], { signal: stopping.signal });
  stopping.abort();
  const stopped = await running;
  t.match(stopped, { code: 1, stderr: /stopped after 0 of 600 changes: run the command again/ });
  t.match(await report('termination', 'a.csv', content), { code: 0, stdout: /600 accepted/ });
});
