/** What the demo plays on: a benefits service, a payroll system and the sidecar between them, on this machine. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../config.ts';
import type { Census } from '../../contract/census.ts';
import { createSidecar, type Sidecar } from '../../runtime/sidecar.ts';
import { type Simulator, startSimulator } from '../../simulator/simulator.ts';
import { silentLog } from '../../telemetry/log.ts';
import { CommandFailed } from '../failure.ts';
import { type Api, createApi } from './api.ts';
import { type Payroll, startPayroll } from './payroll.ts';

export type Stage = {
  readonly simulator: Simulator;
  readonly payroll: Payroll;
  /** What payroll holds, by employer id: what the benefits service must receive. */
  readonly censuses: ReadonlyMap<string, Census>;
  readonly sidecar: Sidecar;
  readonly api: Api;
  /** For the API, with the scope `all`. */
  readonly token: string;
  /** Holds the database, and is removed in the end. */
  readonly folder: string;
  /** Ends all three and removes the folder. */
  clear(): Promise<void>;
};

export type StageOptions = {
  /** What payroll answers with, where that is not what the simulator made up for it. */
  censuses?: ReadonlyMap<string, Census>;
};

/** Enough for every secret here: 256 bits, as the delivery provider and `token create` make them. */
const SECRET_BYTES = 32;

/** Starts everything on free ports of 127.0.0.1 with new secrets. Rejects with nothing left behind. */
export async function setStage(options: StageOptions = {}): Promise<Stage> {
  const folder = await makeFolder();
  const endings: (() => Promise<void>)[] = [];
  const clear = async (): Promise<void> => {
    const results: PromiseSettledResult<void>[] = [];
    for (const end of endings) results.push(...(await Promise.allSettled([end()])));
    await rm(folder, { recursive: true, force: true });
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  };
  try {
    const [apiKey, censusToken, token] = [secret('base64url'), secret('base64url'), secret('base64url')];
    const webhookSecret = `whsec_${secret('base64')}`;

    const simulator = await startSimulator({ apiKey, secrets: [webhookSecret] });
    endings.push(simulator.close);
    const { censuses = simulator.world } = options;
    const payroll = await startPayroll(censuses, censusToken);
    endings.push(payroll.close);

    const config = readConfig({
      BENEFITS_ENVIRONMENT: 'sandbox',
      BENEFITS_BASE_URL: simulator.url,
      BENEFITS_API_KEY: apiKey,
      WEBHOOK_SECRETS: webhookSecret,
      DATA_KEYS: `demo:${secret('base64')}`,
      DATABASE_URL: `sqlite:${join(folder, 'sidecar.db')}`,
      RECEIVER_HOST: '127.0.0.1',
      RECEIVER_PORT: '0',
      API_PORT: '0',
      API_TOKEN: token,
      CENSUS_SOURCE: payroll.censusAddress,
      CENSUS_SOURCE_TOKEN: censusToken,
      LOG_LEVEL: 'silent',
    });
    const sidecar = await createSidecar(config, { log: silentLog });
    simulator.subscribe(`${sidecar.receiver}/webhooks`);
    const api = createApi(sidecar.api, token);
    // Whoever holds connections to the sidecar ends before it, so that it has none to wait for.
    endings.push(api.close, sidecar.stop);
    return { simulator, payroll, censuses, sidecar, api, token, folder, clear };
  } catch (error) {
    await clear();
    throw error;
  }
}

async function makeFolder(): Promise<string> {
  try {
    return await mkdtemp(join(tmpdir(), 'benefits-sidecar-demo-'));
  } catch (error) {
    const code = (error as { code?: string }).code ?? 'unknown error';
    throw new CommandFailed(
      `no scratch folder can be made in ${tmpdir()} (${code}): set TMPDIR to another folder`,
    );
  }
}

function secret(encoding: 'base64' | 'base64url'): string {
  return randomBytes(SECRET_BYTES).toString(encoding);
}
