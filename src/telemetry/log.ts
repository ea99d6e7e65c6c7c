import { type LoggerOptions, pino } from 'pino';
import type { LogLevel } from '../config.ts';
import { printable, printableLines } from './printable.ts';

/** Errors are logged by their code; bodies, secrets and personal data never are. docs/access.md lists the fields. */
export type LogFields = Partial<{
  event_id: string;
  event_type: string;
  employer_id: string;
  request_id: string;
  census_id: string;
  sync_id: string;
  run_id: string;
  notification_id: string;
  kind: string;
  state: string;
  reason: string;
  cause: string;
  code: string;
  status: number;
  count: number;
  ms: number;
  address: string;
  environment: string;
  sending: string;
  engine: string;
  version: string;
  route: string;
  token: string;
  session: string;
  audit_head: string;
  signed_at: string;
  key_id: string;
  signature: string;
}>;

export type Log = Record<
  'debug' | 'info' | 'warn' | 'error' | 'fatal',
  (fields: LogFields, message: string) => void
>;

/** Bytes of lines that wait while the reader of standard output stalls: minutes of warnings. */
const WAITING_MAX_BYTES = 1024 * 1024;

let dropped = 0;

/** Returns how many lines were dropped since the start because the reader stalled. */
export function droppedLines(): number {
  return dropped;
}

/**
 * Creates the log: JSON lines on standard output, or colored lines for people. Writing a line waits for no reader, because
 * the thread that logs also stores events: lines wait in memory, and above a limit they are dropped and counted.
 */
export function createLog(level: LogLevel, forPeople: boolean): Log {
  const base = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: forPeople ? escapedTwice : (line: string) => printableLines(line) },
  };
  if (!forPeople) return pipedLog(base);
  return pino({ ...base, transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname' } } });
}

function pipedLog(options: LoggerOptions): Log {
  const { stdout } = process;
  let unreported = 0;
  const log = pino(options, {
    write(line) {
      if (stdout.writableLength + line.length <= WAITING_MAX_BYTES) stdout.write(line);
      else {
        dropped += 1;
        unreported += 1;
      }
    },
  });
  stdout.on('drain', () => {
    if (unreported === 0) return;
    log.warn({ count: unreported }, 'log lines were dropped, because the reader of the log stalled');
    unreported = 0;
  });
  return log;
}

/** How long an end waits for the reader of the lines that are left. */
const FLUSH_MS = 500;

/** Resolves when the lines that wait are written, or after a short time. */
export async function flushLog(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, FLUSH_MS);
  const { stdout } = process;
  // What waited may end with a report of dropped lines, which is written after it.
  stdout.write('', () => stdout.write('', () => resolve()));
  await promise;
  clearTimeout(timer);
}

/** pino-pretty parses the line, so each escape needs another one to survive that. */
function escapedTwice(line: string): string {
  const escaped = (character: string) =>
    printable(character) === character ? character : `\\${printable(character)}`;
  return `${line.trimEnd().replace(/[^ -~]/gu, escaped)}\n`;
}

export const silentLog: Log = pino({ level: 'silent' });
