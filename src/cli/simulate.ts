import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readBenefits, readWebhookSecrets } from '../config.ts';
import { type Environment, given } from '../environment.ts';
import { type Simulator, startSimulator } from '../simulator/simulator.ts';
import { DEFAULT_EMPLOYER_IDS, type World } from '../simulator/world.ts';
import type { Context } from './context.ts';
import type { Output } from './output.ts';
import { addressToReach, untilItListens } from './reach.ts';
import { deliveryInWords, requestInWords } from './simulate-words.ts';

type Options = {
  seed: number;
  port: number;
  webhookUrl?: string;
  employer?: string[];
  employees: number;
  censuses?: string;
};

/** Both secrets: 256 random bits. */
const SECRET_BYTES = 32;
/** So that a duplicate of every deduction event is seen. */
const DUPLICATES = 1;

/**
 * A benefits service in the foreground, until Ctrl-C: asks for the census of each employer once something listens
 * for its webhooks, enrols the employees of each census that comes, and tells in words what it receives and sends.
 */
export async function simulate(context: Context, options: Options): Promise<number> {
  const { env, out, stopped } = context;
  const signal = stopped();
  const { seed, port, employees, employer = DEFAULT_EMPLOYER_IDS } = options;
  const webhookUrl = options.webhookUrl ?? `${addressToReach({ host: '127.0.0.1', port: 8080 })}/webhooks`;
  const secrets = secretsOf(env);
  const enrolled = new Set<string>();
  const simulator = await startSimulator({
    apiKey: secrets.apiKey,
    secrets: secrets.webhookSecrets,
    ...{ port, seed, employerIds: employer, employeesEach: employees },
    received: (request) => {
      out.print(requestInWords(request));
      const employerId = acceptedCensusOf(request);
      if (employerId === null || enrolled.has(employerId)) return;
      enrolled.add(employerId);
      enrolLater(out, simulator, employerId);
    },
    delivered: (delivery) => out.print(deliveryInWords(delivery)),
  });
  try {
    simulator.subscribe(webhookUrl);
    const folder = options.censuses === undefined ? null : writeCensuses(options.censuses, simulator.world);
    printSettings(out, simulator.url, secrets, folder);
    out.print(`Waiting for something to listen at ${webhookUrl}`);
    if (await untilItListens(webhookUrl, signal)) {
      for (const employerId of employer) {
        out.print(`Asking for the census of ${employerId}`);
        await simulator.requestCensus(employerId);
      }
      await aborted(signal);
    }
    return 0;
  } finally {
    await simulator.close();
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
  if (censusFolder !== null) out.print(`  export CENSUS_SOURCE='dir:${censusFolder}'`);
  out.print(
    '\nand, as ever, DATA_KEYS: a line of "benefits-sidecar keys generate", the same at every start.\n',
  );
}

/** Payroll's side of the simulated world, as `CENSUS_SOURCE=dir:` reads it. Answers the folder's absolute path. */
function writeCensuses(folder: string, world: World): string {
  mkdirSync(folder, { recursive: true });
  for (const [employerId, census] of world) {
    writeFileSync(join(folder, `${employerId}.json`), `${JSON.stringify(census, null, 2)}\n`);
  }
  return resolve(folder);
}

function acceptedCensusOf({ path, status }: { path: string; status: number }): string | null {
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
      `Enrolling ${employees.length} employees of ${employerId}: ${events.length} deduction events, each twice and out of order`,
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
