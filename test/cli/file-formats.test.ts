/** The commands of file formats. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { organization } from '../contract/samples.ts';
import { workbookOf } from '../formats/workbook-file.ts';
import { onEitherEngine } from '../support/engine.ts';
import { here, withDatabase } from './harness.ts';

const EXPORT = `Emp #,First Name,Last Name,DOB,Street Address,City,State,ZIP,Hire Date,Email,Hours/Week,Annual Salary,Effective Date,Status
1001,Ana,Ruiz,4/5/1980,1 Main St,Boston,MA,02108,2020-02-03,ana@example.org,40,52000.00,2026-01-01,FT
`;

onEitherEngine('a file format is proposed into a file, put, shown and used', async (t) => {
  const { env } = await withDatabase(t);
  const file = (name: string, content: string | Buffer): string => {
    const path = join(t.testdirName, name);
    writeFileSync(path, content);
    return path;
  };
  const csv = file('export.csv', EXPORT);
  const broken = file('broken.csv', EXPORT.replace('ana@example.org', ''));
  const rows = EXPORT.trim()
    .split('\n')
    .map((line) => line.split(','));
  const book = workbookOf({
    sheets: [
      { name: 'Notes', rows: [['x']] },
      { name: 'Census', rows },
    ],
  });
  const workbook = file('export.xls', book);
  const converted = join(t.testdirName, 'converted.csv');
  const run = (...words: string[]) => here(t, env, [...words, '--employer', 'maple-bakery']);

  const proposed = await run('format', 'propose', csv);
  t.match(proposed, { code: 0, stderr: /DOB \(dob\): date-month-first changes 1 value, not confirmed\n/ });
  t.notMatch(proposed.stderr, '4/5/1980');
  const format = file('format.json', proposed.stdout);
  const steps: readonly [words: string[], expected: object][] = [
    [
      ['format', 'propose', csv, '--examples'],
      { code: 0, stderr: /line 2: 4\/5\/1980 is read as 1980-04-05/ },
    ],
    [
      ['format', 'propose', broken],
      { code: 1, stderr: /email: is required.*\(line 2\)\nNot ready: 1 problem/ },
    ],
    [
      ['format', 'propose', workbook],
      { code: 1, stderr: /several sheets with data: name one in the file format.*"Notes", "Census"/ },
    ],
    [
      ['format', 'propose', workbook, '--sheet', 'census'],
      { code: 0, stdout: /"sheet": "census"/, stderr: /1 row read from the sheet Census\n/ },
    ],
    [['format', 'put', format, '--kind', 'taxes'], { code: 2 }],
    [['format', 'put', broken], { code: 1 }],
    [
      ['format', 'put', format, '--organization', file('organization.json', JSON.stringify(organization))],
      { code: 0, stdout: 'Files of the kind census are read by version 1, with an organization.\n' },
    ],
    [['format', 'show'], { code: 0, stdout: proposed.stdout, stderr: '' }],
    [['census', 'convert', csv, converted], { code: 0, stdout: `Wrote ${converted}\n` }],
    [['census', 'convert', csv, converted], { code: 1, stderr: /exists: choose another file/ }],
    [['census', 'stage', csv], { code: 0, stdout: /^Staged 1 employee of maple-bakery\n/ }],
  ];
  for (const [words, expected] of steps) t.match(await run(...words), expected, words.join(' '));
});
