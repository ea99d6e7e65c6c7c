/** Prints the SQL that each engine gets from `db/`, or one of them: `node tools/schema.ts postgres`. */
import { knownMigrations, MIGRATIONS_TABLE } from '../src/database/migrate.ts';

const [only] = process.argv.slice(2);
const engines = (['sqlite', 'postgres'] as const).filter((engine) => engine === (only ?? engine));
if (engines.length === 0) throw new Error(`"${only}" is not an engine: sqlite or postgres`);

for (const engine of engines) {
  console.log(`${MIGRATIONS_TABLE};\n`);
  for (const { name, sql } of knownMigrations()) console.log(`-- ${name} on ${engine}\n\n${sql(engine)}`);
}
