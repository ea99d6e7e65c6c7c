/** The command line with which people try the sidecar and develop against it. Nothing of it is in the image. */
import type { Program } from '../cli/program.ts';

export const DEVELOPMENT: Program = {
  name: 'benefits-sidecar-dev',
  description: 'Simulates the systems around a sidecar, to try it and to develop against it.',
  examples: ['demo', 'simulate', 'replay fixtures/'],
  commands: {
    'Commands:': {
      demo: async () => (await import('./demo/commands.ts')).addDemoCommand,
      simulate: async () => (await import('./simulate.ts')).addSimulateCommand,
      replay: async () => (await import('./replay.ts')).addReplayCommand,
    },
  },
};
