import { spawnSync } from 'node:child_process';
import t from 'tap';
import { openFilesLimit } from '../../src/runtime/open-files.ts';

t.test('the limit of open files is the soft one, or none', async (t) => {
  const { stdout } = spawnSync('bash', ['-c', 'ulimit -n 60; cat /proc/self/limits'], { encoding: 'utf8' });
  t.equal(openFilesLimit(stdout), 60);
  t.equal(openFilesLimit('Max open files            unlimited            unlimited            files'), null);
  t.equal(openFilesLimit(''), null);
});
