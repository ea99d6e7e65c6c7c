/** A pilot: nothing is sent while one is stored, by any process, and nothing of it afterward. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { DEFAULT_SEED, makeWorld } from '../../src/simulator/world.ts';
import { here, jsonOf, type Variables } from '../cli/harness.ts';
import { address, newHire } from '../contract/samples.ts';
import { allSent, report } from '../support/disagreements.ts';
import { onEitherEngine } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/memory.ts';
import type { Variables as Settings } from '../support/settings.ts';
import { start } from '../support/sidecar.ts';
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

t.test('a pilot starts only on a database that delivered nothing, and once', async (t) => {
  const stage = await setPilot(t);
  await stage.sidecar.end('SIGTERM');
  t.equal((await command(t, stage, 'sending', 'on', '--yes')).code, 0);
  const refusal = async (variables: Settings) => {
    const started = start(t, { ...stage.variables, ...variables });
    t.equal(await started.ended, 1);
    return started.output();
  };
  t.match(await refusal({}), /SENDING is off, but the pilot of this database ended on \d{4}-\d\d-\d\d/);
  const diagnosed = await command(t, stage, 'doctor');
  t.match(diagnosed, {
    code: 1,
    stdout: /FAIL +sending: SENDING is off, but the pilot of this database ended/,
  });
  t.match(await refusal({ SENDING: undefined }), /BENEFITS_API_KEY is not set/);

  const live = await setStage(t);
  await live.simulator.requestCensus(EMPLOYER);
  const change = await report(live.api, 'demographic', move('1 First Street'));
  await eventually('it is delivered', () => live.api.get(`/v1/employee-changes/${change.changeId}`), {
    state: 'delivered',
  });
  await live.sidecar.end('SIGTERM');
  const started = start(t, { ...live.variables, SENDING: 'off' });
  t.equal(await started.ended, 1);
  t.match(started.output(), /SENDING is off, but requests of this database were delivered/);
});

t.test('a restored backup of a pilot is in the pilot', async (t) => {
  const stage = await setPilot(t);
  const file = join(stage.folder, 'pilot.db');
  t.equal((await command(t, stage, 'backup', file)).code, 0);
  const settings = { SENDING: undefined, DATABASE_URL: `sqlite:${stage.folder}/restored.db` };
  const restored = await stage.another(settings);
  const done = await command(t, restored, 'restore', file);
  t.match(done, { code: 0, stderr: /from a pilot: nothing is sent until "benefits-sidecar sending on"/ });
  await restored.start();
  t.equal(startLine(restored).sending, 'off');
});
