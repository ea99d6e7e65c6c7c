import { onEitherEngine } from '../support/engine.ts';
import { schedule } from '../support/payroll.ts';
import { here, jsonOf } from './harness.ts';
import { payrollStage } from './payroll-stage.ts';

onEitherEngine('a pay schedule is set from a file and shown as it was set', async (t) => {
  const { env, file } = await payrollStage(t);
  const body = { schedules: [schedule({ pay_group: 'north' })] };
  const put = await here(t, env, [
    'schedule',
    'put',
    file('s.json', JSON.stringify(body)),
    '--employer',
    'e',
  ]);
  t.equal(put.code, 0);
  t.match(put.stdout, /^biweekly +north +2026-07-17 +2026-06-29 +2026-07-12$/m);
  t.strictSame(jsonOf(await here(t, env, ['schedule', 'show', '--employer', 'e', '--json'])), body);
  const none = await here(t, env, ['codes', 'show', '--employer', 'e']);
  t.match(none, { code: 0, stdout: '', stderr: 'This employer has no payroll codes.\n' });
});

for (const [what, argv, content, line] of [
  ['an unknown field', 'schedule', '{"schedules":[],"colour":1}', /pay schedule is refused.*colour/],
  ['no JSON', 'codes', 'code', /c\.json is not valid JSON/],
] as const) {
  onEitherEngine(`an invalid setting is rejected in one line and nothing is saved: ${what}`, async (t) => {
    const { env, file } = await payrollStage(t);
    const ran = await here(t, env, [argv, 'put', file('c.json', content), '--employer', 'e']);
    t.match(ran, { code: 1, stdout: '', stderr: line });
    t.equal(ran.stderr.trimEnd().split('\n').length, 1);
    t.match(await here(t, env, [argv, 'show', '--employer', 'e']), { stdout: '' });
  });
}
