import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readBenefits, readWebhookSecrets } from '../config.ts';
import { type Environment, given } from '../environment.ts';
import { CONTROL_PATH } from '../simulator/control.ts';
import type { ReceivedRequest } from '../simulator/record.ts';
import { isScenario, SCENARIOS, type ScenarioName } from '../simulator/scenarios.ts';
import { type Simulator, startSimulator } from '../simulator/simulator.ts';
import { DEFAULT_EMPLOYER_IDS, type World } from '../simulator/world.ts';
import type { Context } from './context.ts';
import { WrongUsage } from './failure.ts';
import { type Output, printable } from './output.ts';
import { addressToReach, untilItListens } from './reach.ts';
import { deliveryInWords, requestInWords } from './simulate-words.ts';
import { printTable } from './table.ts';

type Options = {
  seed: number;
  port: number;
  webhookUrl?: string;
  employer?: string[];
  employees: number;
  censuses?: string;
  scenario?: string;
  fault?: string[];
};

/** Both secrets: 256 random bits. */
const SECRET_BYTES = 32;
/** So that a duplicate of every deduction event is seen. */
const DUPLICATES = 1;
/** In a scenario nobody waits for hours of retries: all of them take ten seconds. */
const SCENARIO_RETRY_SCALE = 0.0001;

/**
 * A benefits service in the foreground, until Ctrl-C: tells in words what it receives and sends. Once something listens
 * for its webhooks it plays a scenario, or else asks for the census of each employer and enrols who is in it.
 */
export async function simulate(context: Context, options: Options): Promise<number> {
  const { env, out, stopped } = context;
  if (options.scenario === 'list') return listScenarios(out);
  const scenario = options.scenario === undefined ? null : scenarioOf(options.scenario);
  if (scenario !== null && options.fault !== undefined) {
    throw new WrongUsage('give either --fault or --scenario: a scenario sets faults of its own');
  }
  const signal = stopped();
  const { seed, port, employees, employer = DEFAULT_EMPLOYER_IDS, fault: faults = [] } = options;
  const webhookUrl = options.webhookUrl ?? `${addressToReach({ host: '127.0.0.1', port: 8080 })}/webhooks`;
  const secrets = secretsOf(env);
  const enrolled = new Set<string>();
  const simulator = await startSimulator({
    apiKey: secrets.apiKey,
    secrets: secrets.webhookSecrets,
    ...{ port, seed, faults, employerIds: employer, employeesEach: employees },
    ...(scenario !== null && { retryScale: SCENARIO_RETRY_SCALE }),
    received: (request) => {
      out.print(printable(requestInWords(request)));
      const employerId = scenario === null ? acceptedCensusOf(request) : null;
      if (employerId === null || enrolled.has(employerId)) return;
      enrolled.add(employerId);
      enrolLater(out, simulator, employerId);
    },
    delivered: (delivery) => out.print(printable(deliveryInWords(delivery))),
    endpointDisabled: (url) =>
      out.print(printable(`The endpoint ${url} is disabled: nothing is sent to it any more`)),
    said: (text) => out.print(printable(`* ${text}`)),
  });
  try {
    simulator.subscribe(webhookUrl);
    const folder = options.censuses === undefined ? null : writeCensuses(options.censuses, simulator.world);
    printSettings(out, simulator.url, secrets, folder);
    out.print(printable(`Waiting for something to listen at ${webhookUrl}`));
    if (await untilItListens(webhookUrl, signal)) {
      if (scenario !== null) await playUntil(out, simulator, scenario, signal);
      else await askForCensuses(out, simulator, employer);
      await aborted(signal);
    }
    return 0;
  } finally {
    await simulator.close();
  }
}

function listScenarios(out: Output): number {
  const rows = Object.entries(SCENARIOS).map(([name, { about, see }]) => [name, about, see]);
  printTable(out, ['scenario', 'what happens', 'to be seen'], rows);
  return 0;
}

function scenarioOf(name: string): ScenarioName {
  if (isScenario(name)) return name;
  throw new WrongUsage(`--scenario must be list, or one of ${Object.keys(SCENARIOS).join(', ')}`);
}

/** Plays it, unless the signal comes before its end; closing the simulator then ends it. */
async function playUntil(
  out: Output,
  simulator: Simulator,
  name: ScenarioName,
  signal: AbortSignal,
): Promise<void> {
  const playing = simulator.playScenario(name, (text) => out.print(printable(`* ${text}`)));
  playing.catch(() => {});
  await Promise.race([playing, aborted(signal)]);
}

async function askForCensuses(
  out: Output,
  simulator: Simulator,
  employerIds: readonly string[],
): Promise<void> {
  for (const employerId of employerIds) {
    out.print(printable(`Asking for the census of ${employerId}`));
    await simulator.requestCensus(employerId);
  }
}

type Secrets = { apiKey: string; webhookSecrets: readonly string[]; fromEnvironment: boolean };

/** Those of a sidecar's environment, where this one has them: then both fit together without copying. */
function secretsOf(env: Environment): Secrets {
  const names = ['BENEFITS_API_KEY', 'WEBHOOK_SECRETS'];
  const isGiven = (name: string) =>
    given(env, name) !== undefined || given(env, `${name}_FILE`) !== undefined;
  if (!names.every(isGiven)) {
    const apiKey = randomBytes(SECRET_BYTES).toString('base64url');
    const webhookSecret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    return { apiKey, webhookSecrets: [webhookSecret], fromEnvironment: false };
  }
  // Only the key is wanted; the address that the sidecar will have is this simulator's.
  const { apiKey } = readBenefits({ ...env, BENEFITS_BASE_URL: 'http://127.0.0.1' });
  return { apiKey, webhookSecrets: readWebhookSecrets(env), fromEnvironment: true };
}

/** What to give a sidecar. Secrets that were just made are printed, as nothing else knows them; given ones never. */
function printSettings(out: Output, url: string, secrets: Secrets, censusFolder: string | null): void {
  out.print(`A benefits service listens at ${url}. Give a sidecar these, then start it:\n`);
  out.print('  export BENEFITS_ENVIRONMENT=sandbox');
  out.print(`  export BENEFITS_BASE_URL=${url}`);
  if (secrets.fromEnvironment) out.print('  # BENEFITS_API_KEY and WEBHOOK_SECRETS: as they are set here');
  else {
    out.print(`  export BENEFITS_API_KEY=${secrets.apiKey}`);
    out.print(`  export WEBHOOK_SECRETS='${secrets.webhookSecrets.join(' ')}'`);
  }
  if (censusFolder !== null) out.print(printable(`  export CENSUS_SOURCE='dir:${censusFolder}'`));
  out.print(
    '\nand, as ever, DATA_KEYS: a line of "benefits-sidecar keys generate", the same at every start.',
  );
  out.print(`What it received, and orders to misbehave: ${url}${CONTROL_PATH}\n`);
}

/** Payroll's side of the simulated world, as `CENSUS_SOURCE=dir:` reads it. Answers the folder's absolute path. */
function writeCensuses(folder: string, world: World): string {
  mkdirSync(folder, { recursive: true });
  for (const [employerId, census] of world) {
    writeFileSync(join(folder, `${employerId}.json`), `${JSON.stringify(census, null, 2)}\n`);
  }
  return resolve(folder);
}

function acceptedCensusOf({ path, status }: ReceivedRequest): string | null {
  const [, encoded] = /^\/employer\/([^/]+)\/census$/.exec(path) ?? [];
  return encoded === undefined || status !== 200 ? null : decodeURIComponent(encoded);
}

/** Behind the answer to the upload and the event that its processing is complete. */
function enrolLater(out: Output, simulator: Simulator, employerId: string): void {
  setImmediate(async () => {
    await simulator.settled();
    const employees = [...simulator.employeesOf(employerId).keys()];
    const events = employees.flatMap((employeeId) => simulator.enrol(employeeId));
    out.print(
      `Enrolling ${employees.length} employees of ${printable(employerId)}: ${events.length} deduction events, each twice and out of order`,
    );
    await simulator.deliverShuffled(events, { duplicates: DUPLICATES });
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
