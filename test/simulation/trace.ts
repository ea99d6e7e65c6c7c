/** Everything that happens in a simulation, as lines: hashed, and the last ones kept for a breach. */
import { createHash } from 'node:crypto';
import type { Log } from '../../src/telemetry/log.ts';
import type { Query } from './machine.ts';

const LINES_KEPT = 60;

export type Trace = ReturnType<typeof createTrace>;

export function createTrace(now: () => number) {
  const hash = createHash('sha256');
  const lines: string[] = [];
  const add = (text: string): void => {
    const line = `${new Date(now()).toISOString()} ${text}`;
    hash.update(line);
    if (process.env.SIMULATION_TRACE !== undefined) process.stderr.write(`${line}\n`);
    if (lines.push(line) > LINES_KEPT) lines.shift();
  };
  return {
    add,
    lines: lines as readonly string[],
    /** Returns the log of a sidecar, whose lines are part of the trace. */
    log(which: string): Log {
      const at = (level: string) => (fields: object, message: string) =>
        add(`${which} ${level} ${message} ${JSON.stringify(fields)}`);
      return {
        debug: at('debug'),
        info: at('info'),
        warn: at('warn'),
        error: at('error'),
        fatal: at('fatal'),
      };
    },
    /** Adds all rows in the order of their keys. Ciphertexts are part of it: their nonces come from the seed. */
    addRows(query: Query): void {
      const tables = query<{ name: string }>(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name",
      );
      for (const { name } of tables) {
        const key = query<{ name: string }>(
          `select name from pragma_table_info('${name}') where pk > 0 order by pk`,
        );
        const order = key.length === 0 ? 'rowid' : key.map((column) => `"${column.name}"`).join(', ');
        for (const row of query(`select * from "${name}" order by ${order}`)) {
          hash.update(`${name} ${JSON.stringify(row)}\n`);
        }
      }
    },
    digest: (): string => hash.digest('hex'),
  };
}
