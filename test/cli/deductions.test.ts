import { deductionOf, deliver } from '../api/deliver.ts';
import { onEitherEngine } from '../support/engine.ts';
import { here, jsonOf, type Variables, withDatabase, withFixtures } from './harness.ts';

async function ids(t: Parameters<typeof here>[0], env: Variables, ...filter: string[]): Promise<string[]> {
  const { data } = jsonOf(await here(t, env, ['deductions', 'list', '--json', ...filter]));
  return data.map((deduction: { id: string }) => deduction.id);
}

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
