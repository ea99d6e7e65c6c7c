/** Shell completion, tried in a real bash; zsh and fish check the syntax where they are installed. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import t from 'tap';
import { here } from './harness.ts';

const CASES: [string, string[]][] = [
  ['re', ['replay', 'readiness', 'restore', 'retention']],
  ['run f', ['finalize']],
  ['run list --state ', ['open', 'finalized', 'voided']],
  ['run list --st', ['--state']],
  ['run list --employer acme --j', ['--json']],
  ['events dismiss msg_1 --', ['--reason', '--yes', '--json', '--help']],
  ['completion ', ['bash', 'zsh', 'fish', '--help']],
  ['census stage ./cen', []],
];

t.test('bash completes commands, options and their values', async (t) => {
  const { code, stdout } = await here(t, {}, ['completion', 'bash']);
  t.equal(code, 0);
  for (const [line, expected] of CASES) {
    const words = ['benefits-sidecar', ...line.split(' ')].map((word) => `'${word}'`).join(' ');
    const script = `${stdout}\nCOMP_WORDS=(${words}) COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
      complete -p benefits-sidecar >/dev/null && { _benefits_sidecar; printf '%s\\n' "\${COMPREPLY[@]}"; }`;
    const ran = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
    t.strictSame([ran.status, ran.stderr], [0, ''], line);
    t.strictSame(ran.stdout.split('\n').filter(Boolean), expected, line);
  }
});

for (const [shell, start] of [
  ['zsh', /^#compdef benefits-sidecar\n/],
  ['fish', /^function __benefits_sidecar_at\n/],
] as const) {
  t.test(`the ${shell} script names every command, option and value`, async (t) => {
    const { stdout } = await here(t, {}, ['completion', shell]);
    t.match(stdout, start);
    for (const words of [
      'readiness run deductions',
      'create preview',
      'open finalized voided',
      'bash zsh fish',
    ]) {
      t.match(stdout, words);
    }
    const file = join(t.testdir({ script: stdout }), 'script');
    const { error, status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
    if (error === undefined) t.equal(status, 0, stderr);
  });
}
