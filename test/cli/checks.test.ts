import t from 'tap';
import { summaryOf } from '../../src/cli/checks.ts';
import { here, withDatabase } from './harness.ts';

t.test('a summary counts what did not pass', async (t) => {
  const of = (...results: ('pass' | 'warn' | 'fail' | 'accepted' | 'unknown')[]) =>
    summaryOf(results.map((result) => ({ result })));
  t.equal(of('pass', 'pass'), 'all 2 checks passed');
  t.equal(of('pass', 'warn'), '1 warning of 2 checks');
  t.equal(
    of('fail', 'fail', 'warn', 'accepted', 'unknown', 'pass'),
    '2 failures, 1 warning, 1 accepted, and 1 not checked of 6 checks',
  );
});

for (const [command, id] of [
  ['readiness', 'events-pending'],
  ['doctor', 'node'],
] as const) {
  t.test(`${command} ends with a summary, and shows what passed only with --all`, async (t) => {
    const { env } = await withDatabase(t);
    const plain = await here(t, env, [command]);
    t.notMatch(plain.stdout, /^pass/m);
    t.match(plain.stdout, / checks( passed)?\.( |\n)/);
    t.match(plain.stderr, 'Add --all to see the checks that passed.');
    const all = await here(t, env, [command, '--all']);
    t.match(all.stdout, new RegExp(`^pass  ${id}`, 'm'));
    t.equal(all.stderr, '');
    t.equal(all.stdout.split('\n').at(-2), plain.stdout.split('\n').at(-2), 'the same summary');
  });
}
