import { pino } from 'pino';
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

/** Creates the log: JSON lines on standard output, or colored lines for people. */
export function createLog(level: LogLevel, forPeople: boolean): Log {
  const base = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: forPeople ? escapedTwice : (line: string) => printableLines(line) },
  };
  if (!forPeople) return pino(base, pino.destination({ fd: 1, sync: true }));
  return pino({ ...base, transport: { target: 'pino-pretty', options: { ignore: 'pid,hostname' } } });
}

/** pino-pretty parses the line, so each escape needs another one to survive that. */
function escapedTwice(line: string): string {
  const escaped = (character: string) =>
    printable(character) === character ? character : `\\${printable(character)}`;
  return `${line.trimEnd().replace(/[^ -~]/gu, escaped)}\n`;
}

export const silentLog: Log = pino({ level: 'silent' });
