/** Everything that happens in a simulation, as lines. The same seed always gives the same lines. */
import { ENCRYPTED_COLUMNS } from '../../src/operations/verify.ts';
import type { Encryptor } from '../../src/security/encryption.ts';
import type { Log } from '../../src/telemetry/log.ts';
import type { Query } from './machine.ts';

export type Trace = ReturnType<typeof createTrace>;

export function createTrace(now: () => number) {
  const lines: string[] = [];
  const add = (text: string): void => {
    const line = `${new Date(now()).toISOString()} ${text}`;
    if (process.env.SIMULATION_TRACE !== undefined) process.stderr.write(`${line}\n`);
    lines.push(line);
  };
  return {
    add,
    lines: lines as readonly string[],
    /** Returns the log of a sidecar, whose lines are part of the trace. `line` is called for each. */
    log(which: string, line: (fields: { code?: string }, message: string) => void): Log {
      const at = (level: string) => (fields: object, message: string) => {
        add(`${which} ${level} ${message} ${JSON.stringify(fields)}`);
        line(fields, message);
      };
      const [debug, info, warn] = [at('debug'), at('info'), at('warn')];
      return { debug, info, warn, error: at('error'), fatal: at('fatal') };
    },
    /** Adds all rows in the order of their keys, with decrypted values. Throws if one cannot be decrypted. */
    addRows(query: Query, encryptor: Encryptor): void {
      const tables = query<{ name: string }>(
        "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name",
      );
      for (const { name } of tables) {
        const key = query<{ name: string }>(
          `select name from pragma_table_info('${name}') where pk > 0 order by pk`,
        );
        const order = key.length === 0 ? 'rowid' : key.map((column) => `"${column.name}"`).join(', ');
        for (const row of query(`select * from "${name}" order by ${order}`)) {
          for (const { column, placeOf } of ENCRYPTED_COLUMNS.filter(({ table }) => table === name)) {
            const value = row[column] as unknown;
            if (value instanceof Buffer)
              row[column] = encryptor.decrypt(value, placeOf(row)).toString('latin1');
          }
          lines.push(`row of ${name} ${JSON.stringify(row)}`);
        }
      }
    },
  };
}

/** Describes the first line in which two traces differ, with the lines before it; null if they are equal. */
export function firstDifference(lines: readonly string[], otherLines: readonly string[]): string | null {
  const length = Math.max(lines.length, otherLines.length);
  const index = Array.from({ length }).findIndex((_, line) => lines[line] !== otherLines[line]);
  if (index === -1) return null;
  const before = lines.slice(Math.max(0, index - 5), index);
  return [...before, `first:  ${lines[index]}`, `second: ${otherLines[index]}`].join('\n');
}
