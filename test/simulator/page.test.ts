import { readFileSync } from 'node:fs';
import t from 'tap';
import { FAULTS } from '../../src/simulator/faults.ts';
import { SCENARIOS } from '../../src/simulator/scenarios.ts';

const table = (page: string, name: string): string[] => {
  const text = readFileSync(new URL(`../../docs/${page}.md`, import.meta.url), 'utf8');
  const part = text.split(`<!-- ${name} -->`)[1]?.split('<!-- end -->')[0] ?? '';
  return part.split('\n').filter((line) => line.startsWith('| `'));
};
const VALUES = { none: '', duration: 'a time', status: 'a status', number: 'a number' };

t.test('docs/simulator.md lists every fault as the code defines it', async (t) => {
  const rows = Object.entries(FAULTS).map(([name, { value, usual, meets, about }]) => {
    const shown = value === 'duration' ? `${Number(usual) / 1_000}s` : usual;
    const usually = value === 'none' || usual === null ? VALUES[value] : `${VALUES[value]}; usual: ${shown}`;
    return `| \`${name}\` |${usually === '' ? '' : ` ${usually}`} | a ${meets} | ${about} |`;
  });
  t.same(table('simulator', 'faults'), rows);
});

t.test('docs/simulator.md lists every scenario as the code defines it', async (t) => {
  const rows = Object.entries(SCENARIOS).map(
    ([name, { about, see }]) => `| \`${name}\` | ${about} | ${see} |`,
  );
  t.same(table('simulator', 'scenarios'), rows);
});
