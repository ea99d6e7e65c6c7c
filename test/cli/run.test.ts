import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { run as runCommand } from '../../src/cli/program.ts';
import { transact } from '../../src/database/transaction.ts';
import { insertApproval } from '../../src/payroll/records/approvals.ts';
import { onEitherEngine } from '../support/engine.ts';
import { pastTriggers } from '../support/past-triggers.ts';
import { bodyOn, EMPLOYER, employ, setPolicy, taken } from '../support/payroll.ts';
import { here, jsonOf } from './harness.ts';
import { optionsOn, PAY_DATE, payrollStage, type Stage } from './payroll-stage.ts';

const test = onEitherEngine.with(payrollStage);

/** Types an answer to a prompt on a terminal. Null: the input ends without one. */
async function answering({ env }: Stage, answer: string | null, ...argv: string[]) {
  const terminal = () => Object.assign(new PassThrough(), { isTTY: true });
  const [stdout, stderr, stdin] = [terminal(), terminal(), terminal()];
  let asked = '';
  stderr.on('data', (part) => {
    asked += part;
    if (!String(part).includes('[yes/no]')) return;
    if (answer === null) stdin.end();
    else stdin.write(`${answer}\n`);
  });
  stdout.resume();
  const code = await runCommand(['run', ...argv], env, {
    ...{ stdout, stderr, stdin },
    signal: new AbortController().signal,
  });
  return { code, asked };
}

/** Finalizes the run `r1` as its readiness report shows it. */
async function finalize(run: Stage['run'], ...options: string[]) {
  const { etag } = jsonOf(await run('readiness', 'r1', '--json'));
  return run('finalize', 'r1', '--etag', etag, ...options);
}

test('a run is created with its totals, and creating it again changes nothing', async (t, { run }) => {
  const created = await run('create', 'r1', ...optionsOn(PAY_DATE));
  t.match(created, { code: 0, stdout: /^total +2 +2 +\$138\.46 +\$323\.06$/m, stderr: '' });
  const again = await run('create', 'r1', ...optionsOn(PAY_DATE), '--kind', 'regular', '--json');
  t.match(again, { code: 0, stderr: /Nothing changed/ });
  t.match(created.stdout, new RegExp(`^ETag +${jsonOf(again).etag}$`, 'm'));
  const taken = { code: 1, stdout: '', stderr: /A run with this ID and a different body exists/ };
  t.match(await run('create', 'r1', ...optionsOn(PAY_DATE), '--pay-group', 'g'), taken);
});

test('every field of a run has an option, and a file can set them all', async (t, { db, run, file }) => {
  await employ(db, 'emp-1', { termination_date: '2026-07-01' });
  const options = [
    ...['--kind', 'off_cycle', '--pay-group', 'g', '--employee', 'emp-2', 'emp-1', '--deduction', 'ded-1'],
    ...['--final-check', 'emp-1'],
  ];
  const shown = jsonOf(await run('create', 'r1', ...optionsOn(PAY_DATE), ...options, '--json'));
  const body = {
    ...bodyOn(PAY_DATE, { kind: 'off_cycle', pay_group: 'g', employee_ids: ['emp-1', 'emp-2'] }),
    ...{ deductions: ['ded-1'], final_checks: ['emp-1'] },
  };
  t.match(shown, body);
  const again = await run('create', 'r1', file('run.json', JSON.stringify(body)));
  t.match(again, { code: 0, stderr: /Nothing changed/ });
  const preview = await run('preview', ...optionsOn(PAY_DATE), '--final-check', 'emp-2');
  t.match(preview, { code: 1, stderr: /cannot be computed: --final-check/ });
});

/** Wrong commands after `run`, and the line that each prints. */
const REJECTED: Record<string, readonly [code: number, line: RegExp]> = {
  [`create r/1 ${optionsOn(PAY_DATE).join(' ')}`]: [2, /1 to 128 of A-Z/],
  'create r --employer e --frequency weekly --period-start 2026-01-01 --period-end 2026-01-07': [
    2,
    /--pay-date: is required/,
  ],
  'create r /no/such.json': [1, /\/no\/such\.json does not exist/],
  'show r': [1, /r: There is no payroll run with this ID\. .*run list/],
  'finalize r --etag x': [1, /There is no payroll run/],
  'finalize r': [2, /without a terminal, add the --etag of the reviewed lines/],
  'finalize r --yes': [2, /without a terminal, add the --etag/],
  'finalize r --etag x --accept overlap': [2, /--reason: is required/],
  'finalize r --etag x --accept overlap bogus --reason x': [2, /cannot: bogus$/m],
  'finalize r --etag x --reason x': [2, /--reason: must be omitted without accept/],
  'void r --yes --reason ': [2, /--reason: must be a reason of 1 to/],
  'lines r --csv --json': [2, /either --csv or --json/],
  'taken r rows.pdf': [2, /\.csv, \.xlsx, \.json or \.ndjson/],
};

test('wrong usage and unknown runs are rejected in one line', async (t, { run }) => {
  for (const [command, [code, stderr]] of Object.entries(REJECTED)) {
    const ran = await run(...command.split(' '));
    t.match(ran, { code, stdout: '', stderr }, command);
    t.equal(ran.stderr.trimEnd().split('\n').length, 1, command);
  }
  t.match(await run('list'), { code: 0, stdout: '', stderr: /No matching runs/ });
});

test('lines print as a table, as CSV, or as one JSON object per line', async (t, { run }) => {
  await run('create', 'r1', ...optionsOn(PAY_DATE));
  const people = await run('lines', 'r1');
  t.match(people.stdout, /^emp-1\n {2}medical [\s\S]*^emp-2\n {2}dental /m);
  const csv = await run('lines', 'r1', '--csv');
  t.match(csv.stdout, /^run_id,period_start,.*,outstanding_after\r\nr1,2026-06-29,.*\r\nr1,.*\r\n$/);
  const json = await run('lines', 'r1', '--json');
  const lines = json.stdout.trimEnd().split('\n');
  for (const [index, employee_id] of ['emp-1', 'emp-2'].entries())
    t.match(JSON.parse(lines[index] ?? ''), { employee_id, member_amount: '69.23' });
  const one = await run('lines', 'r1', '--employee', 'emp-2');
  t.match(one.stdout, /^emp-2\n/);
  t.notMatch(one.stdout, 'emp-1');
  t.match(await run('lines', 'r1', '--employee', 'nobody'), { code: 0, stdout: '', stderr: /No lines/ });
});

test('a line names the open item that it takes', async (t, { db, env, file, run }) => {
  const header = 'id,employee_id,line_of_coverage,taxability,member_amount,employer_amount,pay_date';
  const opening = file('opening.csv', `${header}\nold-7,emp-1,medical,pre_tax,12.50,0.00,2026-01-02\n`);
  await here(t, env, ['items', 'open', opening, '--employer', EMPLOYER]);
  await setPolicy(db, { open_items: 'include' });
  await run('create', 'r1', ...optionsOn(PAY_DATE));
  t.match(
    (await run('lines', 'r1')).stdout,
    /\$12\.50 [^\n]*\n +arrears of opening:old-7:emp-1::medical:pre_tax/,
  );
});

test('open items are previewed, decided, listed and added up', async (t, { cli, file }) => {
  const head = 'id,employee_id,line_of_coverage,taxability,member_amount,employer_amount,pay_date';
  const opening = file('opening.csv', `${head}\no1,emp-1,medical,pre_tax,5.00,0.00,2026-01-02\n`);
  await cli(`items open ${opening} --employer ${EMPLOYER}`);
  const shown = async (command: string) => (await cli(`items ${command} --employer ${EMPLOYER}`)).stdout;
  t.match(await shown('list'), /^emp-1 +opening .* \$5\.00 +\$0\.00 +open +- +opening:o1/m);
  const decide = 'decide --employee emp-1 --reason x --action take';
  // The pay dates of the stage end in 2026, and the command has the real clock.
  t.match(await shown(`${decide} --preview`), /^emp-1 +(none|2026-\d\d-\d\d) +\$/m);
  t.equal(await shown('decisions'), '', 'nothing was recorded');
  t.equal(await shown(decide), 'Recorded 1 decision: take\n');
  t.match(await shown('list'), / take +x +opening:o1/);
  t.match(await shown('decisions'), / emp-1 +take +- +- +- +\S+ +x +opening:o1/);
  t.match(await shown('totals'), /^opening +1 +1 +\$5\.00[\s\S]*^all take +1 +1 +\$5\.00[\s\S]*^total +1/m);
});

test('a problem of several decisions names its option once', async (t, { cli, file }) => {
  const rows = ['o1', 'o2'].map((id) => `${id},emp-1,medical,pre_tax,5.00,0.00,2026-01-02`);
  const head = 'id,employee_id,line_of_coverage,taxability,member_amount,employer_amount,pay_date';
  await cli(`items open ${file('opening.csv', `${head}\n${rows.join('\n')}\n`)} --employer ${EMPLOYER}`);
  const decide = `items decide --employer ${EMPLOYER} --employee emp-1 --reason x --yes --action`;
  const lines = (await cli(`${decide} paid_directly`)).stderr.split('\n');
  t.strictSame(lines.slice(1, -1), [
    '  --amount: is required for paid_directly',
    '  --paid-on: is required for paid_directly',
  ]);
  t.match(await cli(`${decide} hold --until 2020-01-01`), {
    code: 1,
    stderr: /so: --until: must not be before today/,
  });
  t.match(await cli(`${decide} hold --until 2027-13-01`), {
    code: 2,
    stderr: /wrong: --until: must be a real date/,
  });
});

test('an interrupted list of lines fails the command', async (t, { run, env }) => {
  await run('create', 'r1', ...optionsOn(PAY_DATE));
  const stopping = new AbortController();
  const terminals = { signal: stopping.signal, onStdout: () => stopping.abort() };
  const ran = await here(t, env, ['run', 'lines', 'r1', '--csv'], terminals);
  t.match(ran, { code: 1, stderr: /are incomplete/ });
});

test('readiness of a run prints advice and exits with 1 if it fails', async (t, { run, deduct }) => {
  await run('create', 'r1', ...optionsOn(PAY_DATE));
  const ready = await run('readiness', 'r1');
  t.match(ready, { code: 0, stdout: /^Ready: all \d+ checks passed\.$/m });
  t.notMatch(ready.stdout, /^pass/m);
  t.match(await run('readiness', 'r1', '--all'), { stdout: /^pass {2}overlap$/m });
  await deduct('evt-3', { id: 'ded-3', employee_id: 'emp-1' });
  const stdout = /^FAIL {2}overlap: 1$[\s\S]*emp-1[\s\S]*^Not ready: 1 failure.* of \d+ checks\. Fix/m;
  t.match(await run('readiness', 'r1'), { code: 1, stdout });
  const open = /^FAIL {2}overlap: emp-1: /m;
  t.match(await run('findings', 'r1', '--check', 'overlap'), { code: 0, stdout: open });
  const refused = await finalize(run);
  const stderr = /readiness checks fail: overlap\. .*accept each check by name.*: overlap: 1 found\./;
  t.match(refused, { code: 1, stdout: '', stderr });
  t.notMatch(refused.stderr, 'pass');
  const why = ['--accept', 'overlap', '--reason', 'both are right'];
  const accepted = await finalize(run, ...why, '--json');
  t.match(jsonOf(accepted), { state: 'finalized', accept_reason: 'both are right' });
  t.match(await run('readiness', 'r1'), { code: 1, stderr: /The run is finalized/ });
});

test('comparing a list prints what differs, and fails unless everything agrees', async (t, { cli, file }) => {
  const compare = (rows: string) =>
    cli(
      'cut-over',
      'compare',
      'people',
      file('people.csv', `employee_id\n${rows}\n`),
      '--employer',
      EMPLOYER,
    );
  t.match(await compare('emp-1\nemp-2'), { code: 0, stdout: '2 entries agree; 0 differences\n' });
  const stdout = /^only here +emp-2 [\s\S]*^only in file +emp-9 [\s\S]*^1 entry agrees; 2 differences$/m;
  t.match(await compare('emp-1\nemp-9'), { code: 1, stdout, stderr: /^ETag: \S+$/m });
});

test('verifying an altered run names the difference and fails', async (t, { run, db }) => {
  await run('create', 'r1', ...optionsOn(PAY_DATE));
  await finalize(run);
  t.match(await run('verify', 'r1'), { code: 0, stdout: /^Identical: 2 lines/ });
  await pastTriggers(db, (trx) =>
    trx.updateTable('run_employees').set({ lines: '[]' }).where('employee_id', '=', 'emp-1').execute(),
  );
  const stdout =
    /^emp-1 {2}regular ded-1\n {4}frozen {4}null\n {4}computed {2}\{.*"member_amount":"69\.23".*\nNOT identical: 1 difference in 1 line$/m;
  t.match(await run('verify', 'r1'), { code: 1, stdout });
});

test('finalizing appends the signed head to the file of AUDIT_HEADS', async (t, { run, env, file }) => {
  const path = file('heads.ndjson', '');
  const finalizeTo = async (runId: string, date: string, heads: string) => {
    await run('create', runId, ...optionsOn(date));
    const { etag } = jsonOf(await run('readiness', runId, '--json'));
    const to = { ...env, AUDIT_HEADS: `file:${heads}` };
    return here(t, to, ['run', 'finalize', runId, '--etag', etag, '--json']);
  };
  const { audit_head } = jsonOf(await finalizeTo('r1', PAY_DATE, path));
  t.match(JSON.parse(readFileSync(path, 'utf8')), { audit_head, signature: String });
  t.match(await finalizeTo('r2', '2026-07-31', join(path, 'no-folder')), {
    code: 0,
    stderr: /The run is final, but its head could not be written to AUDIT_HEADS \(ENOTDIR\)\./,
  });
});

test('a refusal names only the failed checks that are not accepted', async (t, { run, deduct, db }) => {
  await employ(db, 'emp-3', { pay_frequency: 'monthly' });
  await deduct('evt-3', { id: 'ded-3', employee_id: 'emp-3', line_of_coverage: 'vision' });
  await deduct('evt-4', { id: 'ded-4', employee_id: 'emp-1' });
  await run('create', 'r1', ...optionsOn(PAY_DATE));
  const accepted = ['--accept', 'employees-not-scheduled', '--reason', 'paid elsewhere'];
  const refused = await finalize(run, ...accepted);
  t.match(refused, { code: 1, stderr: /readiness checks fail: overlap\. Fix/ });
  t.notMatch(refused.stderr, 'employees-not-scheduled');
  const { etag } = jsonOf(await run('show', 'r1', '--json'));
  const both = ['--accept', 'employees-not-scheduled', 'overlap', '--reason', 'both are right'];
  const ofRun = await run('finalize', 'r1', '--etag', etag, ...both);
  t.match(ofRun, { code: 1, stderr: /To accept findings, send the ETag of the readiness report/ });
  await finalize(run, ...both);
  await taken(db, 'r1', { employee_id: 'emp-2', amount: '1.00' });
  const voided = await run('void', 'r1', '--yes', '--reason', 'again');
  t.match(
    voided.stderr,
    /they no longer count\. If payroll has loaded its file, remove the amounts there\.$/m,
  );
  t.match(voided.stderr, /Report these deductions taken again for the run that replaces it: 1 \(1 line\)/);
  t.match(await run('finalize', 'r1', '--etag', etag), {
    code: 1,
    stderr: /The run is voided\. Create another run/,
  });
});

test('only the reviewed lines are finalized', async (t, { run, deduct }) => {
  const { etag } = jsonOf(await run('create', 'r1', ...optionsOn(PAY_DATE), '--json'));
  await deduct('evt-3', { id: 'ded-1', member_contribution: '200.00' }, '2026-07-01T00:00:00Z');
  const stale = await run('finalize', 'r1', '--etag', etag);
  t.match(stale, { code: 1, stdout: '', stderr: /The lines changed since they were reviewed/ });
  const now = jsonOf(await run('show', 'r1', '--json'));
  t.match(stale.stderr, now.etag, 'the current ETag is shown');
  const finalized = await run('finalize', 'r1', '--etag', now.etag);
  t.match(finalized, { code: 0, stdout: /^state +finalized$/m });
  t.match(await run('finalize', 'r1', '--etag', now.etag), { code: 0 }, 'a repeat');
  t.match(await run('finalize', 'r1', '--etag', etag), {
    code: 1,
    stderr: /The run was finalized with other lines/,
  });
  t.match(await run('delete', 'r1'), { code: 1, stderr: /no longer open\. Void it/ });
});

test('on a terminal finalizing shows the totals and asks for confirmation', async (t, stage) => {
  await stage.run('create', 'r1', ...optionsOn(PAY_DATE));
  const no = await answering(stage, 'no', 'finalize', 'r1');
  t.equal(no.code, 1);
  const asked =
    /total +2 +2 +\$138\.46 +\$323\.06[\s\S]*Finalize 2 lines of r1\?[\s\S]*nothing was finalized/;
  t.match(no.asked, asked);
  t.equal(jsonOf(await stage.run('show', 'r1', '--json')).state, 'open');
  t.match(await answering(stage, null, 'finalize', 'r1'), { code: 1, asked: /nothing was finalized/ });
  const yes = await answering(stage, 'yes', 'finalize', 'r1');
  t.equal(yes.code, 0);
  t.equal(jsonOf(await stage.run('show', 'r1', '--json')).state, 'finalized');
});

test('on a terminal --yes shows what it finalizes, with the ETag, and does not ask', async (t, stage) => {
  await stage.run('create', 'r1', ...optionsOn(PAY_DATE));
  const { etag } = jsonOf(await stage.run('readiness', 'r1', '--json'));
  const { code, asked } = await answering(stage, null, 'finalize', 'r1', '--yes');
  t.equal(code, 0);
  t.match(asked, new RegExp(`total +2 +2 +\\$138\\.46[\\s\\S]*ETag\\S* +${etag}$`, 'm'));
  t.notMatch(asked, 'Finalize 2 lines');
});

test('commands name who approved a run, and why an approval no longer counts', async (t, stage) => {
  const { cli, db, deduct, run } = stage;
  await run('create', 'r1', ...optionsOn(PAY_DATE));
  await cli('approval', 'require', '--employer', EMPLOYER, '--reason', 'a test');
  const approve = async (action: 'finalize' | 'void') => {
    const { etag } = jsonOf(await run('show', 'r1', '--json'));
    const given = {
      ...{ person: 'bob@example.com', reason: 'a test', etag, action },
      checks: [],
      findings: [],
    };
    const actor = { kind: 'token', issuer: null, id: 'tok_1', name: 'Bob', acting_user: null } as const;
    const approval = { runId: 'r1', employerId: EMPLOYER, ...given };
    await transact(db, (trx) => insertApproval(trx, approval, { actor, now: new Date().toISOString() }));
  };
  await approve('finalize');
  await deduct('evt-3', { id: 'ded-1', member_contribution: '200.00' }, '2026-07-01T00:00:00Z');
  await approve('finalize');
  const list = (await cli('approval', 'list', 'r1')).stdout.trim().split('\n').slice(1);
  t.match(list, [/finalize +Bob +\S+ +-/, /finalize +Bob +\S+ +a line changed/]);
  t.match(await finalize(run), { code: 0, stdout: /^approved by +Bob$/m });
  await approve('void');
  await run('void', 'r1', '--reason', 'a test', '--yes');
  t.match(await run('show', 'r1'), { stdout: /^voiding approved by +Bob$/m });
});

test('an audit that finds differences ends with 1', async (t, { run, file }) => {
  await run('create', 'r1', ...optionsOn(PAY_DATE));
  const head = 'employee_id,line_of_coverage,member_amount\n';
  const same = file('same.csv', `${head}emp-1,medical,69.23\nemp-2,dental,69.23\n`);
  t.match(await run('audit', 'r1', same), {
    code: 0,
    stdout: /^matched +2 +\$138\.46 +\$138\.46 +\$323\.06 +-$/m,
  });
  const other = file('other.csv', `${head}emp-1,medical,60.00\nemp-1,vision,5.00\nemp-9,dental,7.00\n`);
  t.match(await run('audit', 'r1', other), { code: 1, stdout: /^employee unknown +1 +\$0\.00 +\$7\.00 /m });
  t.match(jsonOf(await run('audit', 'r1', other, '--json')), { only_here: { count: 1 } });
  const wrong = await run('audit', 'r1', file('wrong.csv', 'employee_id,member_amount\nemp-1,5\n'));
  t.match(wrong, { code: 1, stdout: '', stderr: /lines\[0\]: must name its deduction or code/ });
  const empty = await run('audit', 'r1', file('empty.csv', ''));
  t.match(empty, {
    code: 1,
    stderr: /: The file contains invalid rows: is empty: a CSV begins with a header$/m,
  });
});
