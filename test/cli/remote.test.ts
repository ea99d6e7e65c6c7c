/** Commands of operations do the same on the database and at a running sidecar. Under faults: test/faults/remote.test.ts. */
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mock } from 'node:test';
import t from 'tap';
import { systemClock } from '../../src/clock.ts';
import { holdServeLock } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { SYSTEM } from '../../src/security/audit.ts';
import { createToken } from '../../src/security/tokens.ts';
import { VERSION } from '../../src/version.ts';
import { deductionOf, deliver } from '../api/deliver.ts';
import { census, deduction } from '../contract/samples.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/memory.ts';
import { EMPLOYER } from '../support/payroll.ts';
import { here, jsonOf, type Ran, type Variables } from './harness.ts';
import { filesOf, optionsOn, PAY_DATE } from './payroll-stage.ts';
import { known, remoteCommands, stage } from './remote-stage.ts';

t.test('a command prints the same and exits the same on the database and at a running sidecar', async (t) => {
  // Both print ages, such as that of the last event.
  mock.timers.enable({ apis: ['Date'], now: Date.now() });
  t.teardown(() => mock.timers.reset());
  // Some examples write a file.
  const [folder, before] = [temporaryFolder('test'), process.cwd()];
  process.chdir(folder);
  t.teardown(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  const { url, local, remote } = await stage(t);
  const all = (await remoteCommands()).flatMap(({ examples }) => examples);
  t.ok(all.length > 10, `${all.length} examples`);
  for (const words of all) {
    // It prints deliveries until it is stopped.
    if (words.includes('--follow')) continue;
    for (const argv of [words, words.map(known)]) {
      // A change that succeeds would find another state the second time.
      const [there, inPlace] = [await here(t, remote, argv), await here(t, local, argv)];
      const stderr = there.stderr.replace(`At ${url}:\n`, '');
      if (there.code === 0 && there.stderr !== stderr) continue;
      t.strictSame({ ...there, stderr }, inPlace, argv.join(' '));
    }
  }
});

t.test('lines print the same, below one heading per employee, at a running sidecar', async (t) => {
  const { db, local, remote } = await stage(t);
  await deliver(
    db,
    [deductionOf('e-2', { id: 'ded-3', line_of_coverage: 'vision' })],
    systemClock().toISOString(),
  );
  await here(t, local, ['run', 'create', 'r1', ...optionsOn(PAY_DATE)]);
  const lines = await here(t, local, ['run', 'lines', 'r1']);
  t.match(lines.stdout, /^emp-1\n {2}\S[\s\S]*\n {2}vision /);
  t.strictSame(await here(t, remote, ['run', 'lines', 'r1']), lines);
});

t.test('a command runs where its options and variables say, or nowhere', async (t) => {
  const { url, local, remote } = await stage(t);
  const argv = ['items', 'list', '--employer', EMPLOYER];
  const both: Variables = { ...local, ...remote };
  const cases: [string[], Variables, number, RegExp][] = [
    [[], both, 2, /SIDECAR_URL and DATABASE_URL are both set: add --url or --local/],
    [[], { ...remote, DATABASE_URL_FILE: '/run/secrets/url' }, 2, /DATABASE_URL are both set: add --url/],
    [['--local'], both, 0, /No open items/],
    [['--url', `${url}/?`], both, 0, /No open items/],
    [['--url', url], both, 0, /No open items/],
    [['--url', url, '--local'], both, 2, /either --url or --local/],
    [['--url', 'http://payroll.example'], remote, 2, /--url must be an https:\/\/ address/],
    [['--url', 'https://user@payroll.example'], remote, 2, /without a user name/],
    [['--url', `${url}/?x=1`], remote, 2, /without a user name or a query/],
    [[], { ...remote, SIDECAR_TOKEN: '' }, 1, /SIDECAR_TOKEN is not set/],
    [[], { ...remote, SIDECAR_TOKEN: 'unknown' }, 1, /The token is unknown, expired or revoked/],
  ];
  for (const [more, env, code, message] of cases) {
    const ran = await here(t, env, [...argv, ...more]);
    t.equal(ran.code, code, message.source);
    t.match(ran.stderr, message);
  }
  for (const words of ['serve', 'doctor', 'migrate', 'backup b.db', 'verify', 'token list', 'session list']) {
    t.equal((await here(t, local, [...words.split(' '), '--url', url])).code, 2, words);
    const ran = await here(t, remote, words.split(' '));
    t.match(ran, { code: 2, stderr: /needs the database of its machine: set DATABASE_URL/ }, words);
  }
  for (const words of ['token list', 'session list']) {
    const file = { ...remote, DATABASE_URL_FILE: '/missing' };
    t.match(await here(t, file, words.split(' ')), { code: 1, stderr: /DATABASE_URL_FILE can't be read/ });
  }
});

/** Commands that change something, in an order in which each succeeds, unless it is to be refused. */
function changes(file: (name: string, content: string) => string): string[] {
  const run = `r1 ${optionsOn(PAY_DATE).join(' ')}`;
  const organization = JSON.stringify({ ...census.organization, name: 'Café' }, null, 2);
  file('roster.organization.json', organization);
  const [employee] = census.employees;
  const { address, pay_rate, ...flat } = employee as Record<string, unknown>;
  const cells = Object.entries(flat).filter(([, value]) => typeof value === 'string');
  const wrong = file(
    'roster.csv',
    `${cells.map(([name]) => name).join()}\n${cells.map(([, value]) => value).join()}\n`,
  );
  const deductions = file('deductions.json', JSON.stringify([{ ...deduction, id: 'ded-before' }]));
  const leavers = file('leavers.csv', 'employee_id,termination_date\nemp-2,2027-12-31\n');
  const staged = file('census.json', JSON.stringify(census));
  return [
    `run create ${run}`,
    `run create ${run}`,
    'run finalize r1 --yes --etag unknown',
    'run delete r1',
    'run void r1 --reason mistaken --yes',
    `census validate ${wrong} --employer ${EMPLOYER}`,
    `census validate ${wrong} --employer ${EMPLOYER} --json`,
    `census stage ${wrong} --employer ${EMPLOYER}`,
    `census stage ${staged} --employer ${EMPLOYER}`,
    `census validate ${staged} --employer ${EMPLOYER}`,
    'events dismiss evt-bad --reason mistaken --yes',
    'events dismiss evt-bad --reason mistaken --yes',
    'events reprocess evt-bad',
    'events reprocess evt-none',
    'run show .',
    'events show ..',
    'deductions versions .',
    'policy show --employer ..',
    'policy show --employer a/b',
    `policy put ${file('null.json', 'null')} --employer ${EMPLOYER}`,
    'evidence run r1 /missing/evidence.tar --personal-data',
    `employer export --employer ${EMPLOYER} /missing/employer.tar`,
    `import deductions ${deductions}`,
    `import deductions ${deductions} --json`,
    `import deductions ${file('bad.csv', 'id,employee_id\n')}`,
    `change termination ${leavers}`,
    `change termination ${leavers}`,
    `change termination ${leavers} --json`,
    `change termination ${leavers} --key-prefix a\u0001b`,
    `change termination ${file('none.csv', 'employee_id,termination_date\n,x\n')}`,
    'schedule propose --year 2027 --frequency biweekly --from 2027-01-01 --lag 5',
    'schedule propose --year 2027 --frequency semimonthly --day 15 --day 31 --json',
    'schedule propose --year 2027 --frequency weekly',
    'schedule propose --year 2027 --frequency semimonthly --day 30 --day 31',
  ];
}

/** Replaces ids that are made at random. */
function withoutIds({ code, stdout, stderr }: Ran): Ran {
  const named = (text: string) => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '(id)');
  return { code, stdout: named(stdout), stderr: named(stderr).replace(/^At .*:\n/, '') };
}

t.test('a change prints the same and exits the same on the database and at a running sidecar', async (t) => {
  mock.timers.enable({ apis: ['Date'], now: Date.now() });
  t.teardown(() => mock.timers.reset());
  const words = changes(filesOf(t));
  const ran: Record<'local' | 'remote', Ran[]> = { local: [], remote: [] };
  for (const place of ['local', 'remote'] as const)
    await t.test(place, async (t) => {
      const { db, ...variables } = await stage(t);
      // The other place has a running sidecar, which applies events.
      t.teardown(holdServeLock(variables.local.DATABASE_URL));
      const bad = deductionOf('evt-bad', { member_contribution: 'much' });
      await deliver(db, [bad], systemClock().toISOString());
      for (const line of words) ran[place].push(withoutIds(await here(t, variables[place], line.split(' '))));
    });
  for (const [index, line] of words.entries()) t.strictSame(ran.remote[index], ran.local[index], line);
  const proposed = ran.local[words.findIndex((line) => line.startsWith('schedule propose'))];
  t.match(proposed, { stdout: /2027-07-02/, stderr: /^A date on a weekend or a federal bank holiday moves/ });
  t.notMatch(proposed?.stdout, '2027-01-01', 'a holiday moved to the year before');
});

t.test('pages and JSON are the same, and a limited token counts only at a sidecar', async (t) => {
  const { db, local, remote } = await stage(t);
  const list = ['deductions', 'list', '--limit', '1'];
  let cursor: string[] = [];
  for (const page of [1, 2]) {
    const [there, inPlace] = [
      await here(t, remote, [...list, ...cursor]),
      await here(t, local, [...list, ...cursor]),
    ];
    t.strictSame(there, inPlace, `page ${page}`);
    const json = [...list, ...cursor, '--json'];
    const [text, same] = [await here(t, remote, json), await here(t, local, json)];
    t.strictSame(text, same);
    cursor = ['--cursor', jsonOf(text).next_cursor];
  }
  const limitedTo = (scope: string) =>
    transact(db, (trx) =>
      createToken(trx, {
        ...{ name: scope.replace(':', ' '), scopes: [scope], employers: ['other'] },
        ...{ expiresAt: null, now: systemClock(), actor: SYSTEM },
      }),
    );
  const [limited, writer] = [await limitedTo('ledger:read'), await limitedTo('runs:write')];
  const env = { ...remote, SIDECAR_TOKEN: limited.token };
  t.match(await here(t, env, ['deductions', 'list']), { code: 0, stdout: '' });
  const policy = filesOf(t)('policy.json', '{"employer_id":5}');
  t.match(
    (await here(t, remote, ['policy', 'put', policy, '--employer', EMPLOYER])).stderr,
    /^ {2}employer_id: is not/m,
  );
  const create = await here(t, { ...env, SIDECAR_TOKEN: writer.token }, [
    'run',
    'create',
    'r1',
    ...optionsOn(PAY_DATE),
  ]);
  t.match(create.stderr, new RegExp(`: ${EMPLOYER}: There is no employer with this ID`), 'not r1');
  const refused = [
    ['deductions', 'versions', 'ded-1'],
    ['run', 'list'],
    ['events', 'list', '--follow'],
  ];
  for (const argv of refused) {
    const ran = await here(t, env, argv);
    t.match(ran, { code: 1, stdout: '', stderr: /no employer|There is no|scope/ }, argv.join(' '));
    t.equal(
      (
        await here(
          t,
          remote,
          argv.filter((word) => word !== '--follow'),
        )
      ).code,
      0,
    );
  }
});

t.test('deliveries are followed on the database and at a running sidecar, until Ctrl-C', async (t) => {
  const { db, local, remote } = await stage(t);
  for (const [place, env] of Object.entries({ local, remote })) {
    const stopping = new AbortController();
    const onStdout = () => stopping.abort();
    const following = here(t, env, ['events', 'list', '--follow'], { signal: stopping.signal, onStdout });
    let count = 0;
    const arrive = async () => {
      count += 1;
      await deliver(db, [deductionOf(`${place}-${count}`, {})], systemClock().toISOString());
      return stopping.signal.aborted;
    };
    await eventually('a delivery is printed', arrive, (isPrinted) => isPrinted);
    const stdout = new RegExp(`^20\\S+  ${place}-\\d+  employee.deduction-updated  applied`);
    t.match(await following, { code: 0, stdout, stderr: /^Waiting for deliveries/ }, place);
  }
});

t.test('a command follows no redirect, names another version and prints no control character', async (t) => {
  const server = createServer((request, response) => {
    if (request.url?.includes('elsewhere')) {
      response.writeHead(307, { location: 'https://payroll.example/' }).end();
      return;
    }
    const headers = { 'content-type': 'application/json', 'sidecar-version': '9.9.9' };
    response
      .writeHead(200, headers)
      .end(
        JSON.stringify({
          data: [{ employee_id: 'e\u001b[31m', kind: 'arrears' }],
          has_more: false,
          next_cursor: null,
        }),
      );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const list = (employer: string) =>
    here(t, { SIDECAR_TOKEN: 'token' }, ['items', 'list', '--url', url, '--employer', employer, '--wide']);
  const redirected = await list('elsewhere');
  t.equal(redirected.code, 1);
  t.match(redirected.stderr, /answered with a redirect \(307\), which is not followed/);
  const listed = await list('acme');
  t.match(listed.stderr, /has version 9\.9\.9, and this command has/);
  t.notMatch(listed.stdout, '\u001b');
  const deleted = await here(t, { SIDECAR_TOKEN: 'token' }, ['run', 'delete', 'r1', '--yes', '--url', url]);
  t.equal(deleted.stderr.split('9.9.9').length, 2, 'once, after two requests');
});

t.test('a command says that an answer is not whole, or not from a sidecar', async (t) => {
  const server = createServer((request, response) => {
    const sidecar = { 'content-type': 'application/json', 'sidecar-version': VERSION };
    if (request.url?.includes('proxy')) {
      response.writeHead(404, { 'content-type': 'application/problem+json' }).end('{"title":"Not Found"}');
    } else if (request.url?.includes('broken')) {
      const type = 'urn:benefits-sidecar:problem:internal';
      response.writeHead(500, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify({ type, title: 'Internal Server Error', status: 500 }));
    } else if (request.url?.includes('cut')) {
      response.writeHead(200, { ...sidecar, 'content-length': 1_000 });
      response.write('{"data": [', () => response.destroy());
    } else response.writeHead(200, sidecar).end('{"data": [');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const env = {
    SIDECAR_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    SIDECAR_TOKEN: 'token',
  };
  const cases: [string[], RegExp][] = [
    [['run', 'show', 'proxy'], /answered 404 and is no sidecar/],
    [['run', 'show', 'broken'], /answered 500: its log has the cause/],
    [['run', 'show', 'cut'], /did not send its whole answer: the connection was closed/],
    [['run', 'lines', 'cut', '--csv'], /did not send its whole answer: the connection was closed/],
    [['run', 'show', 'bad'], /did not send its whole answer: its JSON is cut off/],
  ];
  for (const [argv, message] of cases) {
    const { code, stderr } = await here(t, env, argv);
    t.equal(code, 1, argv.join(' '));
    t.match(stderr, message);
  }
});

t.test('a command names the address that does not answer, and what to do', async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const cases: [url: string, why: RegExp][] = [
    [`http://127.0.0.1:${port}`, /nothing listens there\. Start the sidecar/],
    ['http://localhost:1', /requests to this port are blocked\. Use another port/],
    ['https://sidecar.invalid', /its host name .*Check the address/],
  ];
  for (const [url, why] of cases) {
    const { code, stderr } = await here(t, { SIDECAR_TOKEN: 'token' }, ['run', 'list', '--url', url]);
    t.equal(code, 1);
    t.match(stderr, new RegExp(`^benefits-sidecar: ${url} did not answer: ${why.source}[^\\n]*\\n$`));
  }
});

t.test('a wrong token of a sidecar is not a case for doctor', async (t) => {
  const argv = ['run', 'list', '--url', 'http://127.0.0.1:9999'];
  for (const [env, why] of [
    [{}, 'SIDECAR_TOKEN is not set'],
    [{ SIDECAR_TOKEN_FILE: '/missing/token' }, "SIDECAR_TOKEN_FILE can't be read: ENOENT"],
  ] as const) {
    const { code, stderr } = await here(t, env, argv);
    t.strictSame(
      [code, stderr],
      [1, `benefits-sidecar: ${why}: a command with --url needs a token of that sidecar\n`],
    );
  }
});

t.test('an ETag may be quoted as refusals print it, on the database and at a running sidecar', async (t) => {
  const { url, local, remote } = await stage(t);
  const etags: [string, number, RegExp][] = [
    ['"5f0c2e"', 1, /There is no payroll run with this ID/],
    ['*', 1, /There is no payroll run with this ID/],
    ['a, b', 2, /must be a single ETag/],
  ];
  for (const [etag, code, message] of etags) {
    const argv = ['run', 'finalize', 'mb-2026-07', '--etag', etag];
    const [there, inPlace] = [await here(t, remote, argv), await here(t, local, argv)];
    t.strictSame({ ...there, stderr: there.stderr.replace(`At ${url}:\n`, '') }, inPlace, etag);
    t.equal(inPlace.code, code, etag);
    t.match(inPlace.stderr, message);
  }
});
