/** Runs commands in a scratch folder, with canaries as secrets. */
import { PassThrough } from 'node:stream';
import type { Test } from 'tap';
import { type Program, run } from '../../src/cli/program.ts';
import type { Db } from '../../src/database/tables.ts';
import { DEVELOPMENT } from '../../src/dev/program.ts';
import { loadFixtures } from '../../src/simulator/events.ts';
import { deliver } from '../api/deliver.ts';
import { scratch } from '../database/scratch.ts';

export const FIXTURES = new URL('../../fixtures/', import.meta.url).pathname;

/** Bytes that spell the canary, so that it is recognizable in base64 too. */
const secretBytes = (letter: string): string => Buffer.from(letter.repeat(32)).toString('base64');
export const API_KEY = 'canary-api-key-4f1c';
export const WEBHOOK_SECRET = `whsec_${secretBytes('w')}`;
export const DATA_KEY = `k1:${secretBytes('d')}`;
/** Must not appear in any output. */
const CANARIES = [API_KEY, WEBHOOK_SECRET, secretBytes('w'), DATA_KEY, secretBytes('d')];

export type Variables = Record<string, string>;
export type Ran = { code: number; stdout: string; stderr: string };
export type Terminals = { isTTY?: boolean; signal?: AbortSignal; onStdout?: (text: string) => void };

/** Commands with these variables. A command is given in words, or in one text if no word has a space. */
export function commandsWith(t: Test, env: Variables) {
  const cli = (command: string, ...more: string[]) => here(t, env, [...command.split(' '), ...more]);
  return {
    cli,
    json: async (command: string, ...more: string[]) => jsonOf(await cli(command, ...more, '--json')),
  };
}

type Harness = { env: Variables; db: Db } & ReturnType<typeof commandsWith>;

/**
 * The variables that every command needs, with a database path in a scratch folder that does not exist yet.
 */
export function environment(t: Test): Variables {
  return {
    BENEFITS_ENVIRONMENT: 'sandbox',
    BENEFITS_BASE_URL: 'http://127.0.0.1:9',
    BENEFITS_API_KEY: API_KEY,
    WEBHOOK_SECRETS: WEBHOOK_SECRET,
    DATA_KEYS: DATA_KEY,
    DATABASE_URL: `sqlite:${t.testdir()}/sidecar.db`,
  };
}

/** The same with a migrated database. */
export async function withDatabase(t: Test): Promise<Harness> {
  const usual = environment(t);
  const { db, url } = await scratch(t);
  const env = { ...usual, DATABASE_URL: url };
  return { env, db, ...commandsWith(t, env) };
}

/** The same with the fixtures' events received (at `at` if given) and applied. */
export async function withFixtures(t: Test, at?: string): Promise<Harness> {
  const harness = await withDatabase(t);
  const deliveries = loadFixtures(FIXTURES).map(({ id, body }) => ({
    eventId: id,
    body: Buffer.from(JSON.stringify(body)),
  }));
  await deliver(harness.db, deliveries, at);
  return harness;
}

/** Runs a command in this process. Fails the test if an output contains a secret. */
export async function here(
  t: Test,
  env: Variables,
  argv: string[],
  terminals: Terminals = {},
  program?: Program,
): Promise<Ran> {
  const { isTTY = false, signal = new AbortController().signal, onStdout } = terminals;
  const stdout = Object.assign(new PassThrough(), { isTTY });
  const stderr = Object.assign(new PassThrough(), { isTTY });
  const texts = { stdout: '', stderr: '' };
  stdout.on('data', (part) => {
    texts.stdout += part;
    onStdout?.(texts.stdout);
  });
  stderr.on('data', (part) => {
    texts.stderr += part;
  });
  const code = await run(argv, env, { stdout, stderr, signal }, program);
  assertNoSecret(t, `${texts.stdout}${texts.stderr}`);
  return { code, ...texts };
}

/** The same for a command of `benefits-sidecar-dev`. */
export function hereDev(t: Test, env: Variables, argv: string[], terminals: Terminals = {}): Promise<Ran> {
  return here(t, env, argv, terminals, DEVELOPMENT);
}

export function assertNoSecret(t: Test, text: string): void {
  for (const canary of CANARIES) if (text.includes(canary)) t.fail('an output shows a secret');
}

/** Parses the JSON output of a command. */
// biome-ignore lint/suspicious/noExplicitAny: tests read single fields.
export function jsonOf({ stdout }: Ran): any {
  return JSON.parse(stdout);
}
