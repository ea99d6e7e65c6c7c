/** Everything that happens in a simulation, as lines. The same seed always gives the same lines. */
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
