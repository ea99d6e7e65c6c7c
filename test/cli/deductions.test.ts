import { deductionOf, deliver } from '../api/deliver.ts';
import { onEitherEngine } from '../support/engine.ts';
import { here, jsonOf, type Variables, withDatabase, withFixtures } from './harness.ts';

async function ids(t: Parameters<typeof here>[0], env: Variables, ...filter: string[]): Promise<string[]> {
  const { data } = jsonOf(await here(t, env, ['deductions', 'list', '--json', ...filter]));
  return data.map((deduction: { id: string }) => deduction.id);
}

onEitherEngine('deductions are listed as the API shows them', async (t) => {
  const { env } = await withFixtures(t);
  const page = jsonOf(await here(t, env, ['deductions', 'list', '--json', '--employee', 'maple-bakery-001']));
  t.equal(page.next_cursor, null);
  t.match(page.data[1], {
    id: 'ded_fixture_medical',
    member_contribution: '171.00',
    employer_contribution: '470.25',
    employer_id: null,
    version: 2,
  });
});

onEitherEngine('filters narrow the list', async (t) => {
  const { env } = await withFixtures(t);
  t.equal((await ids(t, env)).length, 8);
  t.same(await ids(t, env, '--line-of-coverage', 'dental'), ['ded_fixture_dental', 'ded_fixture_unmatched']);
  t.same(await ids(t, env, '--employee', 'maple-bakery-002'), ['ded_fixture_vision']);
  t.same(await ids(t, env, '--employee', 'maple-bakery-002', '--on', '2026-07-01'), []);
  t.same(await ids(t, env, '--employee', 'maple-bakery-002', '--on', '2026-06-30'), ['ded_fixture_vision']);
  t.same(await ids(t, env, '--known-at', '2026-01-14T23:59:59Z'), []);
  t.same(await ids(t, env, '--matched', 'true'), []);
  t.same(await ids(t, env, '--employer', 'maple-bakery'), []);
  t.equal((await ids(t, env, '--taxability', 'pre_tax', '--matched', 'false')).length > 0, true);
});

onEitherEngine('pages follow each other without a gap', async (t) => {
  const { env } = await withFixtures(t);
  const all = await ids(t, env);
  const first = jsonOf(await here(t, env, ['deductions', 'list', '--json', '--limit', '5']));
  const rest = await ids(t, env, '--limit', '5', '--cursor', first.next_cursor);
  t.same([...first.data.map((deduction: { id: string }) => deduction.id), ...rest], all);
  const people = await here(t, env, ['deductions', 'list', '--limit', '5']);
  t.match(people.stderr, `--cursor ${first.next_cursor}`);
});

onEitherEngine('the table shows which deductions are unmatched', async (t) => {
  const { env } = await withFixtures(t);
  const { stdout } = await here(t, env, ['deductions', 'list', '--employee', 'maple-bakery-001', '--wide']);
  t.match(stdout, /employee pays/);
  t.match(stdout, /unmatched +maple-bakery-001 +ded_fixture_medical +medical +\$171\.00 monthly +\$470\.25/);
});

onEitherEngine('versions of a deduction are listed in the order they were recorded', async (t) => {
  const { env } = await withFixtures(t);
  const { data } = jsonOf(await here(t, env, ['deductions', 'versions', 'ded_fixture_medical', '--json']));
  t.same(
    data.map((one: { version: number; late: boolean }) => [one.version, one.late]),
    [
      [1, false],
      [2, false],
      [3, true],
    ],
  );
  t.match((await here(t, env, ['deductions', 'versions', 'ded_fixture_medical'])).stdout, /162\.00.* late /m);
  t.match(await here(t, env, ['deductions', 'versions', 'x']), { code: 1, stderr: /no deduction x/ });
});

onEitherEngine('a moved start is decided, and the versions show the decision', async (t) => {
  const { env, db } = await withDatabase(t);
  const july = { id: 'ded-1', effective_start: '2026-07-01' };
  const august = { id: 'ded-1', effective_start: '2026-08-01', member_contribution: '99.00' };
  await deliver(db, [
    deductionOf('e1', july, '2026-06-01T00:00:00Z'),
    deductionOf('e2', august, '2026-06-20T00:00:00Z'),
  ]);
  const decide = (version: string) =>
    here(t, env, [
      ...['deductions', 'decide', 'ded-1', '--version', version, '--decision', 'drop'],
      ...['--reason', 'the employee confirmed August'],
    ]);
  t.match(await decide('1'), { code: 0, stdout: 'Decided to drop version 1 of ded-1\n' });
  t.match(await decide('2'), { code: 1, stdout: '', stderr: /version 2 of ded-1 needs no decision/ });
  const shown = await here(t, env, ['deductions', 'versions', 'ded-1', '--wide']);
  t.match(shown.stdout, /drop: the employee confirmed August/);
  const { data } = jsonOf(await here(t, env, ['deductions', 'versions', 'ded-1', '--json']));
  t.match(data, [{ start_decision: { decision: 'drop', version: 1 } }, { start_decision: null }]);
});
