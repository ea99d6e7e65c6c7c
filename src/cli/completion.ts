/** The command that prints shell completion, generated from the commands of the program. */
import { Argument, type Command as Base } from 'commander';
import type { Command } from './command.ts';

const NAME = 'benefits-sidecar';

export function addCompletionCommand(program: Command): void {
  program
    .subcommand('completion', 'Print a completion script for a shell.')
    .records('none')
    .examples(`completion bash > ${NAME}.bash`, `completion zsh > _${NAME}`, `completion fish > ${NAME}.fish`)
    .addArgument(new Argument('<shell>', 'The shell').choices(Object.keys(SCRIPTS)))
    .does(async ({ out }, shell: keyof typeof SCRIPTS, _: object, { parent }: Command) => {
      out.print(SCRIPTS[shell](positions(parent as Base, '')));
    });
}

/** A command, by its words after the name of the program, and what can follow it. */
type Position = {
  path: string;
  commands: readonly string[];
  options: readonly string[];
  /** The values of arguments or of options, such as `--state`, that have a fixed set of them. */
  values: Readonly<Record<string, readonly string[]>>;
};

function positions(command: Base, path: string): Position[] {
  const groups = command.commands.length > 0;
  const choices = command.options.map(({ long, argChoices }) => [long ?? '', argChoices ?? []] as const);
  return [
    {
      path,
      commands: [
        ...command.commands.map((one) => one.name()),
        ...(groups ? ['help'] : []),
        ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
      ],
      options: [...choices.map(([long]) => long), '--help'],
      values: Object.fromEntries(choices.filter(([, values]) => values.length > 0)),
    },
    ...command.commands.flatMap((one) => positions(one, `${path} ${one.name()}`.trim())),
  ];
}

function paths(all: readonly Position[]): string[] {
  return all.map(({ path }) => path).filter((path) => path !== '');
}

/** The branches of a `case` over `<path> <option>` and `<path>`, whose bodies `set` makes from the candidates. */
function branches(all: readonly Position[], set: (words: readonly string[]) => string): string {
  const values = all.flatMap((one) =>
    Object.entries(one.values).map(([option, words]) => `    "${one.path} ${option}") ${set(words)} ;;`),
  );
  const words = all.map((one) => `    "${one.path} "*) ${set([...one.commands, ...one.options])} ;;`);
  return [...values, ...words.reverse()].join('\n');
}

/** Finds the command among the words before the cursor. bash and zsh differ in how they name those words. */
const walk = (all: readonly Position[], words: string): string => `  local at='' word previous=''
  for word in ${words}; do
    previous=$word
    case "\${at:+$at }$word" in
      ${paths(all)
        .map((path) => `"${path}"`)
        .join('|')}) at="\${at:+$at }$word" ;;
    esac
  done`;

const SCRIPTS = {
  bash: (all: readonly Position[]) => `_benefits_sidecar() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words=''
${walk(all, `"\${COMP_WORDS[@]:1:COMP_CWORD-1}"`)}
  case "$at $previous" in
${branches(all, (words) => `words="${words.join(' ')}"`)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _benefits_sidecar ${NAME}`,

  zsh: (all: readonly Position[]) => `#compdef ${NAME}
_benefits_sidecar() {
  local -a candidates
${walk(all, `"\${(@)words[2,CURRENT-1]}"`)}
  case "$at $previous" in
${branches(all, (words) => `candidates=(${words.join(' ')})`)}
  esac
  compadd -a candidates || _files
}
compdef _benefits_sidecar ${NAME}`,

  fish: (all: readonly Position[]) => `function __benefits_sidecar_at
  set -l at
  set -l tokens (commandline -opc)
  set -e tokens[1]
  for token in $tokens
    if contains -- "$at $token" ${paths(all)
      .map((path) => `"${path.includes(' ') ? path : ` ${path}`}"`)
      .join(' ')}
      set -a at $token
    end
  end
  test "$at" = "$argv"
end
${all.map(fishLines).join('\n')}`,
};

function fishLines({ path, commands, options, values }: Position): string {
  const start = `complete -c ${NAME} -n '__benefits_sidecar_at ${path}'`;
  return [
    ...(commands.length > 0 ? [`${start} -f -a '${commands.join(' ')}'`] : []),
    ...options.map((option) => {
      const words = values[option];
      return `${start} -l ${option.slice(2)}${words === undefined ? '' : ` -x -a '${words.join(' ')}'`}`;
    }),
  ].join('\n');
}
