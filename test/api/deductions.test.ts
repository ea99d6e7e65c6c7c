import type { Test } from 'tap';
import { stageCensus } from '../../src/census/staging.ts';
import type { Db } from '../../src/database/tables.ts';
import { census, deduction, employee } from '../contract/samples.ts';
import { onEitherEngine } from '../support/engine.ts';
import { deductionOf, deliver } from './deliver.ts';
import { type Running, start } from './start.ts';

const FULL = {
  ...deduction,
  id: 'ded-full',
  member_contribution: '150.0',
  employer_contribution: '+350',
  coverage_type: 'member_family',
  description: 'Gold <plan>',
  effective_start: '2026-01-01T05:31:56Z',
  effective_end: '2026-12-31',
};

/** Stages a census with these employees of an employer. */
async function employ({ parts }: Running, employerId: string, ...employees: string[]): Promise<void> {
  const body = { ...census, employees: employees.map((employee_id) => ({ ...employee, employee_id })) };
  const content = (async function* () {
    yield Buffer.from(JSON.stringify(body));
  })();
  await stageCensus(parts, employerId, { format: 'json', content });
}

const ids = (answer: { json: { data: { id: string }[] } }) => answer.json.data.map(({ id }) => id);

onEitherEngine('a deduction has the fields as sent and those of the ledger', async (t) => {
  const { call, db } = await start(t);
  await deliver(db, [deductionOf('e1', FULL, '2026-01-10T02:00:00+02:00')], '2026-01-15T00:00:00.000Z');
  t.strictSame((await call({ url: '/v1/deductions/ded-full' })).json, {
    ...FULL,
    employer_id: null,
    matched: false,
    version: 1,
    position: 1,
    event_time: '2026-01-10T00:00:00.000000000Z',
    recorded_at: '2026-01-15T00:00:00.000Z',
  });
});

onEitherEngine('optional fields that are absent or null are left out', async (t) => {
  const { call, db } = await start(t);
  const { coverage_type, effective_start, effective_end, ...rest } = FULL;
  await deliver(db, [deductionOf('e1', { ...deduction, id: 'd', description: null, effective_end: null })]);
  const { json } = await call({ url: '/v1/deductions/d' });
  for (const name of ['coverage_type', 'description', 'effective_start', 'effective_end']) {
    t.notOk(name in json && !(name in deduction), name);
  }
  t.ok(rest);
});

onEitherEngine('an unknown deduction is 404, and so are its versions', async (t) => {
  const { call } = await start(t);
  for (const url of ['/v1/deductions/none', '/v1/deductions/none/versions']) {
    const { status, json } = await call({ url });
    t.equal(status, 404);
    t.equal(json.detail, 'There is no deduction with this ID.');
  }
});

onEitherEngine(
  'the versions of a deduction are listed in order of recording, with the reason for their order',
  async (t) => {
    const { call, db } = await start(t);
    await deliver(db, [
      deductionOf('e1', { id: 'd', member_contribution: '1' }, '2026-01-10T00:00:00Z'),
      deductionOf('e2', { id: 'd', member_contribution: '2' }, '2026-01-05T00:00:00Z'),
      deductionOf('e3', { id: 'd', member_contribution: '3' }, '2026-01-10T00:00:00Z'),
      deductionOf('e4', { id: 'd', member_contribution: '4' }, ''),
    ]);
    const { json } = await call({ url: '/v1/deductions/d/versions' });
    t.match(json.data, [
      { version: 1, event_id: 'e1', ordered_by: 'created_at', late: false, member_contribution: '1' },
      { version: 2, event_id: 'e2', ordered_by: 'created_at', late: true },
      { version: 3, event_id: 'e3', ordered_by: 'tie', late: false },
      { version: 4, event_id: 'e4', ordered_by: 'receipt', late: false },
    ]);
    t.equal(json.next_cursor, null);
    t.match((await call({ url: '/v1/deductions/d' })).json, { version: 4, member_contribution: '4' });
  },
);

onEitherEngine('the versions of a deduction are listed page by page, the first recorded first', async (t) => {
  const { call, db } = await start(t);
  const names = ['e1', 'e2', 'e3', 'e4', 'e5'];
  await deliver(
    db,
    names.flatMap((name) => [deductionOf(name, { id: 'd' }), deductionOf(`x${name}`, { id: 'other' })]),
  );
  const seen: string[][] = [];
  let next: string | null = '';
  while (next !== null) {
    const { json }: { json: { data: { event_id: string }[]; next_cursor: string | null } } = await call({
      url: `/v1/deductions/d/versions?limit=2${next && `&cursor=${next}`}`,
    });
    seen.push(json.data.map((one) => one.event_id));
    next = json.next_cursor;
  }
  t.strictSame(seen, [['e1', 'e2'], ['e3', 'e4'], ['e5']]);
  const { next_cursor } = (await call({ url: '/v1/deductions/d/versions?limit=4' })).json;
  t.equal((await call({ url: `/v1/deductions/none/versions?cursor=${next_cursor}` })).status, 404);
  t.equal((await call({ url: '/v1/deductions/d/versions?limit=1001' })).status, 400);
  t.equal((await call({ url: '/v1/deductions/d/versions?cursor=x' })).status, 400);
});

onEitherEngine('newest_first lists the newest versions first, page by page', async (t) => {
  const { call, db } = await start(t);
  const names = ['e1', 'e2', 'e3', 'e4', 'e5'];
  await deliver(
    db,
    names.flatMap((name) => [deductionOf(name, { id: 'd' }), deductionOf(`x${name}`, { id: 'other' })]),
  );
  const seen: string[][] = [];
  let next: string | null = '';
  while (next !== null) {
    const { json }: { json: { data: { event_id: string }[]; next_cursor: string | null } } = await call({
      url: `/v1/deductions/d/versions?order=newest_first&limit=2${next && `&cursor=${next}`}`,
    });
    seen.push(json.data.map((one) => one.event_id));
    next = json.next_cursor;
  }
  t.strictSame(seen, [['e5', 'e4'], ['e3', 'e2'], ['e1']]);
  t.equal((await call({ url: '/v1/deductions/d/versions?order=newest' })).status, 400);
});

/** A listener whose ledger has a deduction of two versions, the second one known ten days later. */
async function startWithTwoVersions(t: Test) {
  const running = await start(t);
  const { db } = running;
  const version = (amount: string, from: string) => ({
    id: 'd',
    member_contribution: amount,
    effective_start: from,
  });
  await deliver(
    db,
    [deductionOf('e1', version('1', '2026-01-01'), '2025-12-01T00:00:00Z')],
    '2026-01-10T00:00:00.000Z',
  );
  await deliver(
    db,
    [deductionOf('e2', version('2', '2026-03-01'), '2026-01-20T00:00:00Z')],
    '2026-01-20T00:00:00.500Z',
  );
  return running;
}

onEitherEngine('one deduction is shown as of a day and as known at an instant, like the list', async (t) => {
  const { call } = await startWithTwoVersions(t);
  const amount = async (query: string) => {
    const { status, json } = await call({ url: `/v1/deductions/d?${query}` });
    return status === 200 ? json.member_contribution : status;
  };
  t.equal(await amount(''), '2');
  t.equal(await amount('on=2026-02-28'), '1');
  t.equal(await amount('on=2026-03-01'), '2');
  t.equal(await amount('on=2025-12-31'), 404, 'nothing was in effect');
  t.equal(await amount('known_at=2026-01-20T00:00:00.499Z'), '1');
  t.equal(await amount('on=2026-03-01&known_at=2026-01-20T02:00:00%2B02:00'), '1');
  t.equal(await amount('known_at=2026-01-01T00:00:00Z'), 404, 'nothing was known');
  t.equal(await amount('on=2026-02-30'), 400);
  t.match(
    (await call({ url: '/v1/deductions/d?on=2025-12-31' })).json.detail,
    'This deduction was not in effect on that date',
  );
  t.equal(
    (await call({ url: '/v1/deductions/none?on=2026-03-01' })).json.detail,
    'There is no deduction with this ID.',
  );
});

onEitherEngine('every filter narrows the list, and filters combine', async (t) => {
  const running = await start(t);
  const { call, db } = running;
  await employ(running, 'one', 'a', 'b');
  await employ(running, 'two', 'c/ü');
  await deliver(db, [
    deductionOf('e1', { id: 'd1', employee_id: 'a', line_of_coverage: 'medical', taxability: 'pre_tax' }),
    deductionOf('e2', { id: 'd2', employee_id: 'b', line_of_coverage: 'dental', taxability: 'pre_tax' }),
    deductionOf('e3', { id: 'd3', employee_id: 'c/ü', line_of_coverage: 'dental', taxability: 'post_tax' }),
    deductionOf('e4', { id: 'd4', employee_id: 'nobody', line_of_coverage: 'life', taxability: 'post_tax' }),
  ]);
  const list = async (query: string) => ids(await call({ url: `/v1/deductions?${query}` }));
  t.strictSame(await list(''), ['d1', 'd2', 'd3', 'd4']);
  t.strictSame(await list('employer_id=one'), ['d1', 'd2']);
  t.strictSame(await list('employee_id=c%2F%C3%BC'), ['d3']);
  t.strictSame(await list('matched=true'), ['d1', 'd2', 'd3']);
  t.strictSame(await list('matched=false'), ['d4']);
  t.strictSame(await list('line_of_coverage=dental'), ['d2', 'd3']);
  t.strictSame(await list('taxability=post_tax'), ['d3', 'd4']);
  t.strictSame(await list('employer_id=one&line_of_coverage=dental&taxability=pre_tax'), ['d2']);
  t.strictSame(await list('employer_id=nobody'), []);
  t.match((await call({ url: '/v1/deductions/d1' })).json, { employer_id: 'one', matched: true });
  t.match((await call({ url: '/v1/deductions/d4' })).json, { employer_id: null, matched: false });
});

onEitherEngine('on is a day, known_at an instant with any offset', async (t) => {
  const { call } = await startWithTwoVersions(t);
  const amounts = async (query: string) =>
    (await call({ url: `/v1/deductions?${query}` })).json.data.map(
      (one: { member_contribution: string }) => one.member_contribution,
    );
  t.strictSame(await amounts(''), ['2'], 'the latest');
  t.strictSame(await amounts('on=2026-02-28'), ['1']);
  t.strictSame(await amounts('on=2026-03-01'), ['2']);
  t.strictSame(await amounts('on=2025-12-31'), []);
  t.strictSame(await amounts('known_at=2026-01-20T00:00:00.499Z'), ['1']);
  t.strictSame(await amounts('known_at=2026-01-20T00:00:00.500Z'), ['2']);
  t.strictSame(
    await amounts('known_at=2026-01-20T02:00:00.500999%2B02:00'),
    ['2'],
    'finer digits are truncated',
  );
  t.strictSame(await amounts('known_at=2026-01-20T02:00:00%2B02:00&on=2026-03-01'), ['1']);
  t.strictSame(await amounts('known_at=2026-01-01T00:00:00Z'), []);
});

onEitherEngine('cursors list 250 rows completely, each once, even while rows are added', async (t) => {
  const { call, db } = await start(t);
  const many = Array.from({ length: 250 }, (_, index) => `${index}`.padStart(3, '0'));
  await deliver(
    db,
    many.map((at) => deductionOf(`e${at}`, { id: `d${at}`, employee_id: `emp-${at}` })),
  );
  const seen: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const after: string = cursor === null ? '' : `&cursor=${cursor}`;
    const page = await call({ url: `/v1/deductions?limit=40${after}` });
    seen.push(...ids(page));
    cursor = page.json.next_cursor;
    pages += 1;
    // One row before the current place, one after the end.
    await addAround(db, pages);
  } while (cursor !== null);
  t.strictSame(
    seen.filter((id) => /^d\d{3}$/.test(id)),
    many.map((at) => `d${at}`),
  );
  t.equal(new Set(seen).size, seen.length, 'no row twice');
  t.equal(pages, 7);
});

function addAround(db: Db, page: number): Promise<void> {
  return deliver(db, [
    deductionOf(`x${page}`, { id: `x${page}`, employee_id: `emp-000-${page}` }),
    deductionOf(`y${page}`, { id: `y${page}`, employee_id: `emp-9${page}` }),
  ]);
}

onEitherEngine(
  'the feed has each version once, in order of position; every page has a cursor to resume from',
  async (t) => {
    const { call, db } = await start(t);
    const batch = (from: number) =>
      Array.from({ length: 50 }, (_, index) => deductionOf(`e${from + index}`, { id: `d${index % 7}` }));
    await deliver(db, batch(0));
    const seen: number[] = [];
    let cursor = '0';
    for (let hasMore = true, pages = 1; hasMore; pages += 1) {
      const { json } = await call({ url: `/v1/deduction-versions?cursor=${cursor}&limit=30` });
      seen.push(...json.data.map((one: { position: number }) => one.position));
      cursor = json.next_cursor;
      hasMore = json.has_more;
      if (pages === 1) await deliver(db, batch(50));
      t.equal(cursor, String(seen.at(-1)), 'the position as text');
    }
    t.strictSame(
      seen,
      Array.from({ length: 100 }, (_, index) => index + 1),
    );
    const rest = (await call({ url: '/v1/deduction-versions?cursor=90' })).json;
    t.strictSame(
      [rest.data.length, rest.has_more, rest.next_cursor],
      [10, false, '100'],
      'the last page has the cursor to resume from',
    );
    const nothing = await call({ url: '/v1/deduction-versions?cursor=100' });
    t.strictSame(nothing.json, { data: [], has_more: false, next_cursor: '100' }, 'an empty one too');
    t.equal(
      (await call({ url: '/v1/deduction-versions' })).json.data.length,
      100,
      'from the beginning by default',
    );
  },
);

onEitherEngine('an operator decides whether a version with a moved start applies', async (t) => {
  const { call, db } = await start(t);
  const election = { ...deduction, id: 'd' };
  await deliver(db, [
    deductionOf('e1', { ...election, effective_start: '2026-07-01' }, '2026-06-01T00:00:00Z'),
    deductionOf(
      'e2',
      { ...election, member_contribution: '99.00', effective_start: '2026-08-01' },
      '2026-06-20T00:00:00Z',
    ),
  ]);
  const inJuly = async () => (await call({ url: '/v1/deductions/d?on=2026-07-15' })).status;
  const decide = (body: object) => call({ method: 'POST', url: '/v1/deductions/d/start-decision', body });
  t.equal(await inJuly(), 200, 'until then it applies');
  const dropped = await decide({ version: 1, decision: 'drop', reason: 'the employee confirmed August' });
  t.equal(dropped.status, 201);
  t.match(dropped.json, {
    deduction_id: 'd',
    version: 1,
    decision: 'drop',
    decided_by: 'API_TOKEN',
    position: 3,
  });
  t.equal(await inJuly(), 404);
  t.equal((await decide({ version: 1, decision: 'keep', reason: 'a mistake' })).status, 201);
  t.equal(await inJuly(), 200, 'the last decision applies');
  t.match((await call({ url: '/v1/deductions/d/versions' })).json.data, [
    { version: 1, start_decision: { decision: 'keep', reason: 'a mistake', decided_by: 'API_TOKEN' } },
    { version: 2, start_decision: null },
  ]);
  t.equal((await decide({ version: 2, decision: 'drop', reason: 'x' })).status, 409, 'no decision is needed');
  t.equal((await decide({ version: 9, decision: 'drop', reason: 'x' })).status, 404);
  t.match((await decide({ version: 1, decision: 'maybe' })).json.errors, [
    { path: 'reason', rule: 'is required' },
    { path: 'decision' },
  ]);
});
