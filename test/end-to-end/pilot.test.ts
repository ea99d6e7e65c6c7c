/** A pilot: nothing is sent while one is stored, by any process, and nothing of it afterward. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { adoptSending } from '../../src/operations/pilot.ts';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { here, jsonOf, type Variables, withDatabase } from '../cli/harness.ts';
import { address, newHire } from '../contract/samples.ts';
import { open } from '../database/scratch.ts';
import { owing } from '../outbox/parts.ts';
import { allSent, report } from '../support/disagreements.ts';
import { onEitherEngine } from '../support/engine.ts';
import { temporaryFolder } from '../support/memory.ts';
import type { Variables as Settings } from '../support/settings.ts';
import { type Instance, type Stage, setStage, syncIn } from '../support/stage.ts';

const EMPLOYER = 'maple-bakery';
/** Its source has no census. */
const UNKNOWN = 'no-census';
const EMPLOYEE = `${EMPLOYER}-005`;

/** A stage whose first start begins a pilot without an API key. Its source has the censuses of the service's employers. */
async function setPilot(t: Test): Promise<Stage> {
  const folder = temporaryFolder('pilot');
  t.teardown(() => rmSync(folder, { recursive: true }));
  for (const [id, census] of makeWorld(DEFAULT_SEED))
    writeFileSync(join(folder, `${id}.json`), JSON.stringify(census));
  const stage = await setStage(t, { variables: { CENSUS_SOURCE: `dir:${folder}` }, start: false });
  await withSettings(stage, { SENDING: 'off', BENEFITS_API_KEY: undefined });
  return stage;
}

/** Starts a sidecar, after ending it if it runs, with these variables changed. */
async function withSettings(instance: Instance, changed: Settings, runs = false): Promise<void> {
  if (runs) await instance.sidecar.end('SIGTERM');
  Object.assign(instance.variables, changed);
  await instance.start();
}

/** Runs a command with the variables of an instance. */
function command(t: Test, { variables }: Pick<Instance, 'variables'>, ...argv: string[]) {
  const given = Object.entries(variables).filter(([, value]) => value !== undefined);
  return here(t, Object.fromEntries(given) as Variables, argv);
}

/** Returns the log line of the start. */
function startLine({ sidecar }: Pick<Instance, 'sidecar'>) {
  return sidecar.logged().filter(({ msg }) => msg === 'receiving webhooks')[0] as Record<string, unknown>;
}

const move = (line1: string) => ({ employee_id: EMPLOYEE, address: { ...address, line1 } });

onEitherEngine('nothing is sent in a pilot by any process, and nothing of it afterward', async (t) => {
  const stage = await setPilot(t);
  const { api, simulator, keys } = stage;
  t.equal(startLine(stage).sending, 'off');
  const line = stage.sidecar.logged('warn').find(({ msg }) => msg.startsWith('sending is off'));
  t.match(line?.msg, /benefits-sidecar sending on/);

  // The requests of the service end, after the censuses of the source reached the roster.
  for (const employer of [EMPLOYER, UNKNOWN]) {
    await simulator.requestCensus(employer);
    const sync = await syncIn(api, employer, 'dismissed');
    t.match(sync, { dismissed_reason: 'sending is off', upload_started_at: null });
  }
  t.match((await syncIn(api, UNKNOWN, 'dismissed')).reason, /has no file for this employer/);
  t.match(await api.get(`/v1/employees/${EMPLOYEE}`), { employer_id: EMPLOYER });
  t.match(await api.call('POST', `/v1/employers/${EMPLOYER}/census/sync`), { status: 202 });
  await syncIn(api, EMPLOYER, 'dismissed');

  // Changes reach the roster, and end at once.
  const moved = await report(api, 'demographic', move('1 Pilot Street'));
  t.match(await api.get(`/v1/employee-changes/${moved.changeId}?body=true`), {
    ...{ state: 'canceled', reason: 'sending is off', attempts: 0, body: move('1 Pilot Street') },
  });
  const hired = { ...newHire, employee_id: 'new-1', employer_id: EMPLOYER };
  const hire = await report(api, 'new-hire', hired);
  t.match(await api.get('/v1/employees/new-1'), { employer_id: EMPLOYER });
  const tried = { retry: { force: true }, cancel: { reason: 'Reported twice.' }, release: undefined };
  for (const [action, body] of Object.entries(tried)) {
    const { status } = await api.call('POST', `/v1/employee-changes/${hire.changeId}/${action}`, body);
    t.equal(status, 409, action);
  }

  // Another sidecar has no variable, and a key.
  const settings = { SENDING: undefined, BENEFITS_API_KEY: keys.apiKey };
  let second: Instance = stage;
  if (stage.databaseUrl.startsWith('sqlite:')) await withSettings(stage, settings, true);
  else {
    second = await stage.another(settings);
    await second.start();
  }
  await report(second.api, 'demographic', move('2 Pilot Street'));
  await simulator.requestCensus(EMPLOYER);
  await syncIn(second.api, EMPLOYER, 'dismissed');
  await allSent(second.api);

  const diagnosed = jsonOf(
    await command(t, { variables: { ...second.variables, ...settings } }, 'doctor', '--json'),
  );
  const found = new Map(
    diagnosed.checks.map((check: { id: string; result: string }) => [check.id, check.result]),
  );
  t.match([found.get('sending'), found.get('service')], ['warn', 'unknown']);
  t.match(await second.api.get('/v1/activity'), { sending_off_since: String });
  t.match(await second.api.check('sending-off'), { result: 'warn', count: 1 });
  const metrics = await fetch(`${second.sidecar.api}/metrics`, {
    headers: { authorization: `Bearer ${keys.token}` },
  });
  t.match(await metrics.text(), /^benefits_sidecar_sending 0$/m);
  t.strictSame(simulator.requests(), [], 'the service received nothing');
  t.match(jsonOf(await command(t, second, 'verify', '--json')), { clean: true });

  // The end.
  const asked = await command(t, second, 'sending', 'on');
  t.match(asked, { code: 2, stderr: /no terminal to ask on/ });
  t.match(
    asked.stdout,
    /Changes of the pilot, which are never sent: 3\nCensuses that are requested now: .*maple-bakery/,
  );
  const on = await command(t, second, 'sending', 'on', '--yes', '--json');
  t.equal(on.code, 0, on.stderr);
  t.strictSame(jsonOf(on).censuses_requested, [EMPLOYER, UNKNOWN]);
  t.strictSame(jsonOf(on).changes_not_sent.length, 3);
  await syncIn(second.api, EMPLOYER, 'completed');
  const later = await report(second.api, 'demographic', move('3 Later Street'));
  for (const { changeId } of [moved, hire])
    t.match(await second.api.call('POST', `/v1/employee-changes/${changeId}/retry`, { force: true }), {
      status: 409,
    });
  await allSent(second.api);
  const received = simulator.requests().map(({ kind, idempotencyKey }) => [kind, idempotencyKey]);
  t.match(received, [
    ['census', String],
    ['demographic', later.changeId],
  ]);
  const { data } = await second.api.get('/v1/audit?action=sending.on');
  t.match(data, [{ actor: { kind: 'cli' }, details: { changes: 3, censuses: 2 } }, Object]);
  t.match(jsonOf(await command(t, second, 'verify', '--json')), { clean: true });
  t.match(await command(t, second, 'sending', 'on', '--yes'), { code: 1, stderr: /Sending is on/ });
});

/** Starts the pilot of a database, as a sidecar does with `SENDING=off`. Returns whether sending is off. */
function adopt(db: Db, sending: 'off' | 'on' = 'off'): Promise<boolean> {
  const benefits = { apiKey: 'key', apiKeyFile: null, baseUrl: '' };
  return adoptSending(db, { sending, benefits }, async () => new Date());
}

t.test('a database has one pilot', async (t) => {
  const { db, env, cli } = await withDatabase(t);
  t.equal(await adopt(db), true);
  t.equal((await cli('sending on --yes')).code, 0);
  const ended = /SENDING is off, but the pilot of this database ended/;
  const off = { ...env, SENDING: 'off' };
  t.match(await here(t, off, ['serve']), {
    code: 1,
    stderr: new RegExp(`${ended.source} on \\d{4}-\\d\\d-\\d\\d`),
  });
  const failed = new RegExp(`FAIL +sending: ${ended.source}`);
  t.match(await here(t, off, ['doctor']), { code: 1, stdout: failed });
  const { BENEFITS_API_KEY: _, ...without } = env;
  t.match(await here(t, without, ['serve']), { code: 1, stderr: /BENEFITS_API_KEY is not set/ });
});

t.test('a pilot does not start on a database that delivered something', async (t) => {
  const { db, loop } = await owing(t, (response) => response.writeHead(200).end('{}'));
  await loop.runOnce();
  await t.rejects(adopt(db), { message: /SENDING is off, but requests of this database were delivered/ });
  t.equal(await adopt(db, 'on'), false);
});

t.test('a restored backup of a pilot is in the pilot', async (t) => {
  const { db, env, cli } = await withDatabase(t);
  await adopt(db);
  const file = join(t.testdirName, 'pilot.db');
  t.equal((await cli(`backup ${file}`)).code, 0);
  const url = `sqlite:${t.testdirName}/restored.db`;
  const done = await here(t, { ...env, DATABASE_URL: url }, ['restore', file]);
  t.match(done, { code: 0, stderr: /from a pilot: nothing is sent until "benefits-sidecar sending on"/ });
  t.equal(await adopt(open(t, url), 'on'), true);
});
