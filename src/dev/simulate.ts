/** The command that simulates a benefits service. */
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { address, several, wholeNumber } from '../cli/arguments.ts';
import { aborted, type Command, type Context } from '../cli/command.ts';
import { wrongUsage } from '../cli/failure.ts';
import { type Output, printable, printTable } from '../cli/output.ts';
import { readBenefits, readWebhookSecrets, requiredApiKey } from '../config.ts';
import { type Environment, given } from '../environment.ts';
import { isAppError } from '../errors.ts';
import { CONTROL_PATH } from '../simulator/control.ts';
import { parseFault } from '../simulator/faults.ts';
import { type Delivery, RETRY_DELAYS_MS } from '../simulator/provider.ts';
import type { ReceivedRequest } from '../simulator/record.ts';
import { isScenario, SCENARIOS } from '../simulator/scenarios.ts';
import { type Simulator, startSimulator } from '../simulator/simulator.ts';
import { DEFAULT_EMPLOYER_IDS, type World } from '../simulator/world.ts';
import { untilItListens } from './replay.ts';

/** Maximum number of employees. Creating them takes at most a few seconds. */
const EMPLOYEES_MAX = 100_000;
const SEED_MAX = 2 ** 31 - 1;

export function addSimulateCommand(program: Command): void {
  program
    .subcommand('simulate', 'Run a simulated benefits service until Ctrl-C.')
    .records('none')
    .examples(
      'simulate',
      'simulate --scenario list',
      'simulate --employer acme --employees 100 --censuses ./censuses',
    )
    .option('--seed <number>', 'Seed of the generated employees and deductions', wholeNumber(0, SEED_MAX), 1)
    .option('--port <port>', 'Listen on this port of 127.0.0.1', wholeNumber(0, 65_535), 8090)
    .option('--webhook-url <url>', `Send events to this URL (default: ${WEBHOOK_URL})`, address)
    .option(
      '--employer <id>',
      `Simulate this employer; repeatable (default: ${DEFAULT_EMPLOYER_IDS.join(' and ')})`,
      several(String),
    )
    .option('--employees <number>', 'Employees of each employer', wholeNumber(1, EMPLOYEES_MAX), 5)
    .option('--censuses <folder>', 'Write censuses to this folder, for CENSUS_SOURCE=dir:<folder>')
    .option('--scenario <name>', 'Play this scenario and keep running; "list" shows all scenarios')
    .option('--fault <fault>', 'Inject this fault, NAME[=VALUE][:COUNT][@ID]; repeatable', several(fault))
    .option('--wide', 'With "--scenario list": print all columns')
    .does(simulate);
}

const WEBHOOK_URL = 'http://127.0.0.1:8080/webhooks';

/** Returns the text of a fault that the simulator understands. */
function fault(text: string): string {
  try {
    parseFault(text);
    return text;
  } catch (error) {
    if (isAppError(error, 'FAULT_REFUSED')) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

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

/**
 * Prints what the service receives and sends. Once its webhooks have a listener it plays a scenario, or else requests
 * the census of each employer and enrolls its employees.
 */
async function simulate(context: Context, options: Options): Promise<number> {
  const { env, out, stopped } = context;
  const { scenario } = options;
  if (scenario === 'list') return listScenarios(out);
  if (scenario !== undefined && !isScenario(scenario)) {
    throw wrongUsage(`--scenario must be list or one of ${Object.keys(SCENARIOS).join(', ')}`);
  }
  if (scenario !== undefined && options.fault !== undefined) {
    throw wrongUsage('use either --fault or --scenario: a scenario sets its own faults');
  }
  const signal = stopped();
  const { seed, port, employees, employer = DEFAULT_EMPLOYER_IDS, fault: faults = [] } = options;
  const { webhookUrl = WEBHOOK_URL } = options;
  const secrets = secretsOf(env);
  const print = (text: string): void => out.print(printable(text));
  const enrolled = new Set<string>();
  const simulator = await startSimulator({
    apiKey: secrets.apiKey,
    secrets: secrets.webhookSecrets,
    ...{ port, seed, faults, employerIds: employer, employeesEach: employees },
    // Scenarios run with retries scaled from hours to ten seconds.
    ...(scenario !== undefined && { retryScale: 0.0001 }),
    received: (request) => {
      print(requestInWords(request));
      const employerId = scenario === undefined ? acceptedCensusOf(request) : null;
      if (employerId === null || enrolled.has(employerId)) return;
      enrolled.add(employerId);
      enrolLater(out, simulator, employerId);
    },
    delivered: (delivery) => print(deliveryInWords(delivery)),
    endpointDisabled: (url) => print(`The endpoint ${url} is disabled and receives no more events`),
    messaged: (text) => print(`* ${text}`),
  });
  try {
    simulator.subscribe(webhookUrl);
    const folder = options.censuses === undefined ? null : writeCensuses(options.censuses, simulator.world);
    printSettings(out, simulator.url, secrets, folder);
    print(`Waiting for a sidecar at ${webhookUrl}`);
    if (await untilItListens(webhookUrl, signal)) {
      if (scenario === undefined) {
        for (const employerId of employer) {
          print(`Requesting the census of ${employerId}`);
          await simulator.requestCensus(employerId);
        }
      } else {
        const playing = simulator.playScenario(scenario, (text) => print(`* ${text}`));
        // Closing the simulator ends a scenario that is still playing.
        playing.catch(() => {});
        await Promise.race([playing, aborted(signal)]);
      }
      await aborted(signal);
    }
    return 0;
  } finally {
    await simulator.close();
  }
}

function listScenarios(out: Output): number {
  printTable(
    out,
    [
      ['scenario', ([name]) => name],
      ['what happens', ([, { about }]) => about, 'cut'],
      ['what to check', ([, { see }]) => see, 1],
    ],
    Object.entries(SCENARIOS),
  );
  return 0;
}

/** Returns the secrets of a sidecar's environment if it is set, so that nothing needs copying. */
function secretsOf(env: Environment) {
  const names = ['BENEFITS_API_KEY', 'WEBHOOK_SECRETS'];
  const isGiven = (name: string) =>
    given(env, name) !== undefined || given(env, `${name}_FILE`) !== undefined;
  if (!names.every(isGiven)) {
    const apiKey = randomBytes(32).toString('base64url');
    const webhookSecret = `whsec_${randomBytes(32).toString('base64')}`;
    return { apiKey, webhookSecrets: [webhookSecret], fromEnvironment: false };
  }
  // Only the key is read; the sidecar's base address will be this simulator's.
  const apiKey = requiredApiKey(readBenefits({ ...env, BENEFITS_BASE_URL: 'http://127.0.0.1' }));
  return { apiKey, webhookSecrets: readWebhookSecrets(env), fromEnvironment: true };
}

/** Prints the variables for a sidecar. Only generated secrets are printed. */
function printSettings(
  out: Output,
  url: string,
  secrets: ReturnType<typeof secretsOf>,
  censusFolder: string | null,
): void {
  out.print(`The simulated benefits service listens at ${url}. Start a sidecar with these variables:\n`);
  out.print('  export BENEFITS_ENVIRONMENT=sandbox');
  out.print(`  export BENEFITS_BASE_URL=${url}`);
  if (secrets.fromEnvironment) out.print('  # BENEFITS_API_KEY and WEBHOOK_SECRETS: as in this environment');
  else {
    out.print(`  export BENEFITS_API_KEY=${secrets.apiKey}`);
    out.print(`  export WEBHOOK_SECRETS='${secrets.webhookSecrets.join(' ')}'`);
  }
  if (censusFolder !== null) out.print(printable(`  export CENSUS_SOURCE='dir:${censusFolder}'`));
  out.print(
    '\nAlso set DATA_KEYS to the output of "benefits-sidecar keys generate", the same at every start.',
  );
  out.print(`Received requests and fault injection: ${url}${CONTROL_PATH}\n`);
}

/** Writes payroll's censuses as `CENSUS_SOURCE=dir:` reads them. Returns the absolute path of the folder. */
function writeCensuses(folder: string, world: World): string {
  mkdirSync(folder, { recursive: true });
  for (const [employerId, census] of world) {
    writeFileSync(join(folder, `${employerId}.json`), `${JSON.stringify(census, null, 2)}\n`);
  }
  return resolve(folder);
}

/** Returns the employer whose census was accepted, or null. */
function acceptedCensusOf({ path, status }: ReceivedRequest): string | null {
  const [, encoded] = CENSUS_PATH.exec(path) ?? [];
  return encoded === undefined || status !== 200 ? null : decodeURIComponent(encoded);
}

const CENSUS_PATH = /^\/employer\/([^/]+)\/census$/;

/** Runs after the response to the upload and the event that completes the sync. */
function enrolLater(out: Output, simulator: Simulator, employerId: string): void {
  setImmediate(async () => {
    await simulator.settled();
    const employees = [...simulator.employeesOf(employerId).keys()];
    const events = employees.flatMap((employeeId) => simulator.enrol(employeeId));
    out.print(
      `Enrolling ${employees.length} employees of ${printable(employerId)}: ${events.length} deduction events, each sent twice and out of order`,
    );
    await simulator.deliverShuffled(events, { duplicates: 1 });
  });
}

const CHANGES: Readonly<Record<string, string>> = {
  'new-hire': 'New hire',
  termination: 'Termination',
  demographic: 'Change of address',
  'compensation-change': 'Change of pay or status',
};

export function requestInWords(request: ReceivedRequest): string {
  const { method, path, body } = request;
  return `${subjectOf(method, path, body)}: ${onPurpose(request) ?? outcomeOf(request)}`;
}

/** Returns the effect of a fault, or null if there was none. */
function onPurpose({ fault, status, applied, repeated }: ReceivedRequest): string | null {
  if (fault === null) return null;
  if (status !== null) return `response ${status} (injected fault ${fault})`;
  return `${applied ? 'applied' : repeated ? 'a duplicate' : 'not applied'}, without a response (injected fault ${fault})`;
}

function subjectOf(method: string, path: string, body: unknown): string {
  if (method !== 'POST') return `${printable(method)} ${printable(path)}`;
  const [, employerId] = CENSUS_PATH.exec(path) ?? [];
  if (employerId !== undefined) {
    const employees = (body as { employees?: unknown } | null)?.employees;
    const count = Array.isArray(employees) ? ` with ${employees.length} employees` : '';
    return `Census of ${printable(employerId)}${count}`;
  }
  const [, change = ''] = /^\/employee-changes\/([a-z-]+)$/.exec(path) ?? [];
  return CHANGES[change] ?? 'Request to an unknown path';
}

function outcomeOf({ status, repeated }: ReceivedRequest): string {
  if (repeated) return 'a duplicate by its idempotency key, not applied again';
  if (status === 200) return 'accepted';
  if (status === 401) return 'rejected, because its API key is not the one above (401)';
  if (status === 422) return 'rejected, because it violates the contract (422)';
  return `rejected (${status})`;
}

export function deliveryInWords({ eventId, attempt, acknowledged, status, reason }: Delivery): string {
  const response = status === null ? `no response, ${reason}` : `response ${status}`;
  if (acknowledged) return `Event ${eventId} acknowledged (${status})`;
  const next = attempt < RETRY_DELAYS_MS.length ? 'it will be retried' : 'this was the last attempt';
  return `Event ${eventId} not acknowledged (${response}), attempt ${attempt}: ${next}`;
}
