/**
 * Follows docs/api.md in a real shell with curl and the real executable, and the pages on payroll request by request, and
 * compares the responses.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { loadFixtures } from '../../src/simulator/events.ts';
import { environment, here } from '../cli/harness.ts';
import { onEitherEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { loading } from '../support/loading.ts';
import {
  daysAfter,
  employment,
  event,
  finalized,
  LATELY,
  learn,
  linesOf,
  send,
  taken,
} from '../support/payroll.ts';
import type { Variables } from '../support/settings.ts';
import { type Stage, setStage } from '../support/stage.ts';
import { deliver } from './deliver.ts';
import { type Request, start } from './start.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SHIFTED_CLOCK = new URL('../support/shifted-clock.ts', import.meta.url).href;
/** The day of the examples. */
const DAY = '2026-07-13T09:00:00.000Z';
const ADDRESS = 'http://127.0.0.1:8081';

/** Matches a block that changes data. */
const CHANGES = /replay| -X | -T | -d | --data/;

type Block = { language: string; text: string };

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return blocks.map(([, language = '', text = '']) => ({ language, text }));
}

/** A shell that keeps exported variables from one block to the next, like an interactive one. */
function createShell(folder: string, variables: Variables) {
  for (const [name, main] of [
    ['benefits-sidecar', 'src/main.ts'],
    ['benefits-sidecar-dev', 'src/dev/main.ts'],
  ] as const) {
    const node = `${process.execPath} --import ${SHIFTED_CLOCK} ${join(ROOT, main)}`;
    writeFileSync(join(folder, name), `#!/bin/sh\nexec ${node} "$@"\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const exported = join(folder, 'exported');
  const env = { ...variables, ...loading(), PATH: `${folder}:${process.env.PATH}` };
  return async (block: string): Promise<string> => {
    const known = existsSync(exported) ? `. ${exported}\n` : '';
    const script = `set -eu\n${known}${block}\nexport -p >${exported}`;
    const child = spawn('sh', ['-c', script], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const [said, complained] = [textOf(child.stdout), textOf(child.stderr)];
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${block}\nended with ${code}: ${await complained}`);
    return said;
  };
}

/** Waits until the sidecar is idle, because a reader of the page is slower. */
async function settled({ api, settled }: Stage): Promise<void> {
  await settled();
  const onTheirWay = async () => [
    ...(await api.get('/v1/employee-changes?state=pending')).data,
    ...(await api.get('/v1/employee-changes?state=sending')).data,
    ...(await api.get('/v1/census-syncs?state=requested')).data,
    ...(await api.get('/v1/census-syncs?state=uploaded')).data,
  ];
  await eventually('no work is in flight', onTheirWay, { length: 0 });
  await settled();
}

/** Cuts each list to the length that a page shows of it. */
function beginning(json: unknown, shown: unknown): unknown {
  if (typeof json !== 'object' || typeof shown !== 'object' || json === null || shown === null) return json;
  if (Array.isArray(json) && Array.isArray(shown))
    return shown.map((entry, index) => beginning(json[index], entry));
  const fields = shown as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [name, beginning(value, fields[name])]),
  );
}

const skip =
  spawnSync('curl', ['--version']).error === undefined
    ? false
    : 'curl is not installed (Debian: apt-get install curl)';

t.test('the API guide works as written, with the responses that it shows', { skip }, async (t) => {
  const shiftMs = Date.parse(DAY) - Date.now();
  const stage = await setStage(t, { start: false, simulator: { now: () => new Date(Date.now() + shiftMs) } });
  stage.variables.CLOCK_SHIFT_FILE = join(stage.folder, 'clock');
  writeFileSync(stage.variables.CLOCK_SHIFT_FILE, String(shiftMs));
  const { api } = await stage.start({ preload: SHIFTED_CLOCK });
  const run = createShell(stage.folder, stage.variables);
  const page = blocksOf('docs/api.md');
  let compared = 0;
  for (const [index, { language, text }] of page.entries()) {
    if (language !== 'sh') continue;
    const answer = await run(text.replaceAll(ADDRESS, api));
    if (CHANGES.test(text)) await settled(stage);
    const shown = page[index + 1];
    const expected = shown?.language === 'json' ? JSON.parse(shown.text) : null;
    if (expected !== null) t.match(beginning(JSON.parse(answer), expected), expected, text);
    else if (shown?.language === 'text') t.equal(answer.replaceAll('\r', ''), shown.text, text);
    else continue;
    compared += 1;
  }
  t.ok(compared >= 20, `${compared} answers compared`);
});

/** The day after the event of the examples arrived. */
const LATER = '2026-07-27T09:00:00.000Z';

/** Returns the words of a command as a shell splits them. */
function words(command: string, variables: Record<string, string>): string[] {
  const known = command.replace(/\\\n/g, ' ').replace(/\$([A-Z]+)/g, (_, name) => variables[name] ?? '');
  const matches = [...known.matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|(\S+)/g)];
  return matches.map(([, single, double, bare = '']) => single ?? double?.replace(/\\(.)/g, '$1') ?? bare);
}

/** Returns the request of a curl command. */
function requestOf([, ...given]: string[]): Request {
  const request = { method: undefined as Request['method'], url: '', headers: {} as Record<string, string> };
  let body: string | undefined;
  for (let at = 0; at < given.length; at += 1) {
    const value = given[at + 1] ?? '';
    if (given[at] === '-X') request.method = value as Request['method'];
    else if (given[at] === '-D') request.headers = { ...request.headers };
    else if (given[at] === '-H') {
      const [name = '', text = ''] = value.split(': ');
      request.headers[name.toLowerCase()] = text;
    } else if (given[at] === '-T') body = readFileSync(join(ROOT, value), 'utf8');
    else if (given[at] === '-d' || given[at] === '--data-binary') body = value;
    else {
      request.url = given[at] as string;
      continue;
    }
    at += 1;
  }
  const method = request.method ?? (given.includes('-T') ? 'PUT' : body === undefined ? 'GET' : 'POST');
  return { ...request, method, ...(body !== undefined && { body }) };
}

/** Follows the blocks of the pages in their order, except blocks that `isLeftOut`. */
async function follow(t: Test, pages: readonly string[], isLeftOut: (text: string) => boolean = () => false) {
  let now = DAY;
  const { call, db, tokenWith } = await start(t, { now: () => new Date(now) });
  const variables: Record<string, string> = {
    API: '',
    TOKEN: await tokenWith('runs:read', 'runs:write', 'runs:approve', 'census:write'),
  };
  const post = ({ id, body }: { id: string; body: unknown }) =>
    deliver(db, [{ eventId: id, body: Buffer.from(JSON.stringify(body)) }], now);
  for (const fixture of loadFixtures(join(ROOT, 'fixtures'))) await post(fixture);
  const page = pages.flatMap((name) => blocksOf(`docs/${name}`));
  let compared = 0;
  for (const [index, { language, text }] of page.entries()) {
    const next = page[index + 1];
    const shown = next?.language === 'json' ? JSON.parse(next.text) : {};
    if (language === 'sh' && text.startsWith('curl') && !isLeftOut(text)) {
      const request = requestOf(words(text, variables));
      const { status, json, headers } = await call(request);
      if (typeof headers.etag === 'string') variables.ETAG = headers.etag.replaceAll('"', '');
      if (shown.status === undefined) t.ok(status < 300, `${request.method} ${request.url}: ${status}`);
      if (next?.language !== 'json') continue;
      t.match(beginning(json, shown), shown, next.text);
      compared += 1;
    } else if ('body' in shown) {
      now = LATER;
      await post(shown);
    }
  }
  return compared;
}

onEitherEngine('the page on payroll runs can be followed, with the responses that it shows', async (t) => {
  t.ok((await follow(t, ['payroll-runs.md'])) >= 8);
});

onEitherEngine('the page on reconciliation can be followed after it', async (t) => {
  t.ok((await follow(t, ['payroll-runs.md', 'reconciliation.md'], (text) => /\/void/.test(text))) >= 14);
});

onEitherEngine('the page on payroll settings can be followed', async (t) => {
  t.ok((await follow(t, ['payroll-runs.md', 'payroll-settings.md'])) >= 1);
});

/** Returns the requests and commands of a section, in their order. */
function commandsOf(page: string, heading: string): string[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  const section = text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const commands = section.matchAll(/^```sh\n(.*?)^```$|^ +(benefits-sidecar [^\n]*)$/gms);
  return [...commands].map(([, block, line]) => block ?? line ?? '');
}

const LEAVER = 'harbor-clinic-003';

/** An employee of harbor-clinic who pays 130.00 with each biweekly paycheck. `follow` runs a command of the docs. */
async function paidEmployee(t: Test) {
  // This empties the folder of the database, so it precedes the start.
  const variablesOfCommands = environment(t);
  const { call, db, url, tokenWith } = await start(t, { now: () => new Date(LATELY) });
  const env = { ...variablesOfCommands, DATABASE_URL: url };
  const variables = { API: '', TOKEN: await tokenWith('runs:read', 'runs:write') };
  await learn(db, employment(LEAVER, { employer_id: 'harbor-clinic' }));
  const terms = { employee_id: LEAVER, period: 'biweekly', member_contribution: '130.00' } as const;
  await send(db, event('a', '2026-01-01', terms));
  const runOf = (payDate: string) => `hc-${payDate}`;
  return {
    db,
    async follow(command: string): Promise<void> {
      if (command.startsWith('curl')) {
        const { status, text } = await call(requestOf(words(command, variables)));
        t.ok(status < 300, `${command}: ${text}`);
        return;
      }
      const [, ...argv] = words(command, variables);
      const { code, stderr } = await here(t, env, argv);
      t.equal(code, 0, `${command}: ${stderr}`);
    },
    async pay(payDate: string): Promise<string[]> {
      const period = { period_start: daysAfter(payDate, -14), period_end: daysAfter(payDate, -1) };
      const fields = { employer_id: 'harbor-clinic', pay_frequency: 'biweekly', pay_date: payDate } as const;
      await finalized(db, runOf(payDate), { ...fields, ...period });
      return (await linesOf(db, runOf(payDate))).map(({ kind, member_amount }) => `${kind} ${member_amount}`);
    },
    async outstanding(): Promise<string[]> {
      const { json } = await call({ url: `/v1/employees/${LEAVER}/open-items` });
      return json.data.map((item: Record<string, string>) => item.outstanding_member_amount);
    },
    unpaid: (payDate: string, line: { kind?: string; amount: string }) =>
      taken(db, runOf(payDate), { employee_id: LEAVER, ...line }),
  };
}

const LEAVE = ['2026-07-17', '2026-07-31', '2026-08-14', '2026-08-28', '2026-09-11', '2026-09-25'];

onEitherEngine('the recipe of a leave takes twice the regular amount until all is caught up', async (t) => {
  const { follow, pay, outstanding } = await paidEmployee(t);
  const commands = commandsOf('docs/reconciliation.md', 'Recipe: a leave of absence');
  t.equal(commands.length, 4);
  const [hold, unpaid, limit, take] = commands as [string, string, string, string];
  await follow(hold);
  for (const payDate of LEAVE) {
    t.strictSame(await pay(payDate), ['regular 130.00'], payDate);
    await follow(unpaid.replace(LEAVE[0] as string, payDate));
  }
  t.strictSame(await outstanding(), Array(LEAVE.length).fill('130.00'));
  await follow(limit);
  await follow(take);
  for (const place of LEAVE.keys())
    t.strictSame(await pay(daysAfter('2026-10-09', 14 * place)), ['regular 130.00', 'arrears 130.00']);
  t.strictSame(await outstanding(), []);
  t.strictSame(await pay('2027-01-01'), ['regular 130.00'], 'the regular amount again');
});

onEitherEngine('the recipe of a leaver leaves nothing outstanding', async (t) => {
  const { db, follow, pay, outstanding, unpaid } = await paidEmployee(t);
  const commands = commandsOf('docs/reconciliation.md', 'Recipe: a leaver');
  t.equal(commands.length, 2);
  const [take, writeOff] = commands as [string, string];
  for (const payDate of LEAVE.slice(0, 2)) {
    await pay(payDate);
    await unpaid(payDate, { amount: '0.00' });
  }
  await learn(db, employment(LEAVER, { employer_id: 'harbor-clinic', termination_date: '2026-08-10' }));
  await follow(take);
  t.strictSame(await pay('2026-08-14'), ['regular 130.00', 'arrears 130.00', 'arrears 130.00']);
  t.strictSame(await outstanding(), []);
  await unpaid('2026-08-14', { kind: 'regular', amount: '40.00' });
  t.strictSame(await outstanding(), ['90.00']);
  await follow(writeOff);
  t.strictSame(await outstanding(), []);
});
