import { PassThrough } from 'node:stream';
import type { Argument, Command, Option } from 'commander';
import t, { type Test } from 'tap';
import { createOutput, WIDTH } from '../../src/cli/output.ts';
import { createProgram, type Program, SIDECAR } from '../../src/cli/program.ts';
import { DEVELOPMENT } from '../../src/dev/program.ts';
import { compareWithGolden } from '../recordings/golden.ts';
import { here } from './harness.ts';

const out = createOutput({ stdout: new PassThrough(), stderr: new PassThrough() }, {}, () => {});

/** Returns all commands with their path, without the name of the program. */
function walk(command: Command, path: string[] = []): [string[], Command][] {
  return [[path, command], ...command.commands.flatMap((one) => walk(one, [...path, one.name()]))];
}

/** Returns the words of an example as a shell splits them, without a redirection. */
function wordsOf(example: string): string[] {
  const command = example.replace(/\\\n/g, '').replace(/ > \S+$/, '');
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare = '']) => quoted ?? bare).slice(1);
}

/** Asserts that the program parses an example and runs its command. */
async function assertRuns(t: Test, path: readonly string[], example: string, named: Program): Promise<void> {
  const words = wordsOf(example);
  if (words[0] === 'help') return;
  const ran: true[] = [];
  const program = await createProgram(out, () => async () => void ran.push(true), [], named);
  await program.parseAsync(words, { from: 'user' });
  t.equal(ran.length, 1, example);
  t.strictSame(words.slice(0, path.length), path, example);
}

t.test(
  'the help of every command describes it in 80 columns, with examples that the program runs',
  async (t) => {
    const programs = await Promise.all(
      [SIDECAR, DEVELOPMENT].map(async (named) =>
        walk(await createProgram(out, () => async () => {}, [], named)).map((at) => [named, ...at] as const),
      ),
    );
    t.ok(programs.flat().length > 60, `${programs.flat().length} commands`);
    for (const [named, path, command] of programs.flat()) {
      const name = path.join(' ') || 'the program';
      const { code, stdout, stderr } = await here(t, {}, [...path, '--help'], {}, named);
      t.strictSame([code, stderr], [0, ''], name);
      const hasCommands = command.commands.length > 0;
      t.equal(stdout.includes('[command]'), hasCommands, `${name} lists commands if it has any`);
      t.match(command.description(), /^[A-Z][^\n]*\.$/, `${name} has a description`);
      const described = [...command.registeredArguments, ...command.options] as (Argument | Option)[];
      const isDescribed = ({ description }: Argument | Option) =>
        /^(?!undefined)\S.*[^.]$/s.test(description);
      t.strictSame(
        described.filter((one) => !isDescribed(one)).map((one) => one.name()),
        [],
        `${name} describes each of them`,
      );
      const isLong = (line: string) => line.length > WIDTH;
      t.strictSame(stdout.split('\n').filter(isLong), [], `${name} fits`);
      const [, shown = ''] = stdout.split('\nExamples:\n');
      const examples = shown.trimEnd().split(/\n(?= {2}\S)/);
      t.ok(shown !== '' && examples.length <= 3, `${name} has one to three examples`);
      for (const example of examples) await assertRuns(t, path, example, named);
    }
  },
);

t.test('a usage error names the help of the command, and exits with 2', async (t) => {
  const ran = await here(t, {}, ['run', 'create']);
  t.match(ran, { code: 2, stdout: '', stderr: /Run "benefits-sidecar run create --help" for usage\./ });
});

t.test('the arguments and options of every command are the recorded ones', async (t) => {
  const linesOf = (command: Command, names: readonly string[]): string[] => {
    const shown = command.createHelp();
    const subcommands = shown.visibleCommands(command).filter((one) => one.name() !== 'help');
    if (subcommands.length > 0) return subcommands.flatMap((one) => linesOf(one, [...names, one.name()]));
    const options = shown.visibleOptions(command).map(({ flags }) => flags.replace(/^-\w, /, ''));
    return [[...names, command.usage(), ...options].join(' ')];
  };
  const lines = linesOf(await createProgram(out, () => async () => {}), []).sort();
  compareWithGolden(t, 'help', `=== options of the commands\n${lines.join('\n')}\n`);
});
