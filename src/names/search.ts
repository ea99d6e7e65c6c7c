/**
 * Finds employees by the beginnings of their names, or by the beginning of their id in any case. The index has the names
 * decrypted, so it is made when somebody searches, and dropped soon after.
 */
import { sql } from 'kysely';
import { isOneOfOrAny, pagesByKey, piecesOf } from '../database/bulk.ts';
import type { Db } from '../database/tables.ts';
import type { Encryptor } from '../security/encryption.ts';
import { folded } from './fold.ts';
import { type NameKey, readName, type StoredName, TABLE } from './names.ts';

const KEPT_MS = 30 * 60_000;
/** Names of one block, which is one text of about 25 KB, searched in microseconds. */
const BLOCK_NAMES = 500;
/** Names decrypted in one turn of the event loop: a few milliseconds. */
const NAMES_AT_ONCE = 100;
const BLOCKS_AT_ONCE = 50;

/** One employer's names. `mark` differs once they have changed. */
type Part = { readonly mark: string; readonly blocks: readonly string[] };

const dropLater = (drop: () => void, ms: number): void => void setTimeout(drop, ms).unref();

/** `later` calls `drop` after some milliseconds, which drops the index. */
export function createNameIndex(db: Db, later = dropLater) {
  const parts = new Map<string, Part>();
  let building: Promise<unknown> = Promise.resolve();

  /** Builds the part of one employer after those before it. */
  function partOf(encryptor: Encryptor, employerId: string, mark: string): Promise<Part> {
    const built = building.then(async () => {
      const known = parts.get(employerId);
      if (known?.mark === mark) return known;
      const part = { mark, blocks: await blocksOf(db, encryptor, employerId) };
      if (parts.size === 0) later(() => parts.clear(), KEPT_MS);
      parts.set(employerId, part);
      return part;
    });
    building = built.catch(() => {});
    return built;
  }

  return {
    /**
     * Returns at most `limit` employees of these employers (null: of all) whose name has a word that starts with each word of
     * the text, or whose id starts with it. Whole words come first.
     */
    async find(
      encryptor: Encryptor,
      text: string,
      employers: readonly string[] | null,
      limit: number,
    ): Promise<NameKey[]> {
      const matches = matcherOf(text);
      const whole: NameKey[] = [];
      const begun: NameKey[] = [];
      let searched = 0;
      for (const [employer_id, mark] of await marksOf(db, employers)) {
        const { blocks } = await partOf(encryptor, employer_id, mark);
        for (const block of blocks) {
          for (const { employee_id, isWhole } of matches(block)) {
            const matching = isWhole ? whole : begun;
            if (matching.length < limit) matching.push({ employer_id, employee_id });
            if (whole.length === limit) return whole;
          }
          searched += 1;
          if (searched % BLOCKS_AT_ONCE === 0) await nextTurn();
        }
      }
      return [...whole, ...begun].slice(0, limit);
    },
  };
}

const nextTurn = () => new Promise(setImmediate);

async function marksOf(db: Db, employers: readonly string[] | null): Promise<[string, string][]> {
  const rows = await db
    .selectFrom(TABLE)
    .select(({ fn }) => ['employer_id', fn.countAll().as('names'), fn.max('noted_at').as('newest')])
    .where(isOneOfOrAny(db, 'employer_id', employers))
    .groupBy('employer_id')
    .orderBy('employer_id')
    .execute();
  return rows.map(({ employer_id, names, newest }) => [employer_id, `${names} ${newest}`]);
}

/** Each line of a block: the id in lower case, the folded name between spaces, and the id. */
async function blocksOf(db: Db, encryptor: Encryptor, employerId: string): Promise<string[]> {
  const blocks: string[] = [];
  const ofEmployer = sql`employer_id = ${employerId}`;
  for await (const page of pagesByKey<StoredName>(db, TABLE, sql`*`, BLOCK_NAMES, ofEmployer)) {
    const lines: string[] = [];
    for (const rows of piecesOf(page, NAMES_AT_ONCE)) {
      lines.push(...rows.flatMap((row) => lineOf(encryptor, row) ?? []));
      await nextTurn();
    }
    blocks.push(`\n${lines.join('')}`);
  }
  return blocks;
}

function lineOf(encryptor: Encryptor, row: StoredName): string | null {
  const name = readName(encryptor, row);
  if (name === null) return null;
  const words = folded(`${name.first_name} ${name.last_name}`);
  return `${lowerId(row.employee_id)}\t ${words} \t${JSON.stringify(row.employee_id)}\n`;
}

/** Without tabs and ends of lines, which JSON escapes. */
function lowerId(id: string): string {
  return JSON.stringify(id).slice(1, -1).toLowerCase();
}

/** Returns a function that yields the matching lines of a block. */
function matcherOf(text: string) {
  const id = `\n${lowerId(text.trim())}`;
  const [first = '', ...others] = folded(text).split(' ').filter(Boolean);
  const words = [first, ...others].map((word) => ` ${word}`);
  return function* (block: string): Generator<{ employee_id: string; isWhole: boolean }> {
    for (let at = block.indexOf(id); at >= 0; at = block.indexOf(id, at + 1)) {
      const line = block.slice(at + 1, block.indexOf('\n', at + 1));
      yield { employee_id: idOf(line), isWhole: line.startsWith(`${id.slice(1)}\t`) };
    }
    if (first === '') return;
    for (let at = block.indexOf(` ${first}`); at >= 0; ) {
      const end = block.indexOf('\n', at);
      const start = block.lastIndexOf('\n', at);
      const line = block.slice(start + 1, end);
      const [lower = '', name = ''] = line.split('\t');
      // Its id was found above.
      if (words.every((word) => name.includes(word)) && !`\n${lower}`.startsWith(id))
        yield { employee_id: idOf(line), isWhole: words.every((word) => name.includes(`${word} `)) };
      at = block.indexOf(` ${first}`, end);
    }
  };
}

function idOf(line: string): string {
  return JSON.parse(line.slice(line.lastIndexOf('\t') + 1));
}
