import { getFlowReadiness } from '../api/operations/flow-readiness.ts';
import type { Command } from './command.ts';
import { addOperation } from './operation-command.ts';
import { printable, printWrapped } from './output.ts';

export function addFlowReadinessCommand(program: Command): void {
  addOperation(program, 'flow-readiness', getFlowReadiness, {
    description: 'Check whether the employer flow of the service may be rendered.',
    examples: ['--employer maple-bakery', '--employer maple-bakery --json'],
    print(out, { ready, reasons }) {
      for (const { code, message } of reasons) printWrapped(out, '', `${code}: ${printable(message)}`);
      out.print(ready ? 'Ready: the flow may be rendered.' : 'Not ready: do not render the flow yet.');
    },
    exitCode: ({ ready }) => (ready ? 0 : 1),
  });
}
