import t from 'tap';
import { EMPLOYER } from '../support/payroll.ts';
import { environment, here } from './harness.ts';
import { optionsOn, PAY_DATE, payrollStage } from './payroll-stage.ts';

const RUN = ['--employer', EMPLOYER, '--frequency', 'biweekly'];
const PERIOD = ['--period-start', '2026-07-01', '--period-end', '2026-07-14'];

t.test('missing options of a run are named as options', async (t) => {
  const env = environment(t);
  for (const command of [['create', 'r1'], ['preview']]) {
    const { code, stderr } = await here(t, env, ['run', ...command, '--pay-date', PAY_DATE]);
    t.equal(code, 2);
    t.equal(
      stderr,
      [
        'benefits-sidecar: options are missing or wrong:',
        '  --employer: is required',
        '  --frequency: is required',
        '  --period-start: is required',
        '  --period-end: is required',
        '',
      ].join('\n'),
    );
  }
});

t.test('wrong values of options name the options, also within the rule', async (t) => {
  const env = environment(t);
  const preview = async (...argv: string[]) => {
    const { code, stderr } = await here(t, env, ['run', 'preview', ...argv]);
    return [code, stderr.replace('benefits-sidecar: options are missing or wrong: ', '').trimEnd()];
  };
  const wrong: [string[], string][] = [
    [
      ['--period-start', '2026-07-15', '--period-end', '2026-07-14'],
      '--period-end: must not be before --period-start',
    ],
    [[...PERIOD, '--kind', 'off_cycle'], '--employee: is required for an off_cycle run'],
    [[...PERIOD, '--applies-on', 'x'], '--applies-on: must be one of pay_date, period_end'],
    [[...PERIOD, '--pay-dates', PAY_DATE, 'x'], '--pay-dates[1]: must be a real date, YYYY-MM-DD'],
  ];
  for (const [argv, message] of wrong)
    t.strictSame(await preview(...RUN, '--pay-date', PAY_DATE, ...argv), [2, message]);
});

t.test('a run that cannot be computed names options, and with a file its fields', async (t) => {
  const { run, file } = await payrollStage(t);
  const unknown = optionsOn(PAY_DATE).map((text) => (text === EMPLOYER ? 'typo' : text));
  t.match(await run('create', 'r1', ...unknown), {
    code: 1,
    stderr: /: --employer: is unknown: check the ID/,
  });
  const employee = await run('create', 'r1', ...optionsOn(PAY_DATE), '--employee', 'typo');
  t.match(employee, { code: 1, stderr: /: --employee: / });
  const body = { employer_id: 'typo', pay_frequency: 'biweekly', pay_date: PAY_DATE };
  const period = { period_start: '2026-07-01', period_end: '2026-07-14' };
  const whole = file('run.json', JSON.stringify({ ...body, ...period }));
  t.match(await run('create', 'r1', whole), { code: 1, stderr: /: employer_id: is unknown/ });
  const part = file('part.json', JSON.stringify(body));
  t.match(await run('create', 'r1', part), { code: 1, stderr: /period_start: is required/ });
});

t.test('help of several words shows the help of that command', async (t) => {
  const help = await here(t, {}, ['run', 'create', '--help']);
  t.match(help.stdout, /^Usage: benefits-sidecar run create /);
  t.strictSame(await here(t, {}, ['help', 'run', 'create']), help);
  t.match(await here(t, {}, ['help', 'run']), { code: 0, stdout: /^Usage: benefits-sidecar run / });
  t.match(await here(t, {}, ['help']), { code: 0, stdout: /^Usage: benefits-sidecar / });
});
