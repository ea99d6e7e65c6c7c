#!/usr/bin/env node
// The executable with the development tools.
import { startOnSupportedNode } from '../node-version.ts';

await startOnSupportedNode(async () => {
  const [{ run }, { DEVELOPMENT }] = await Promise.all([import('../cli/program.ts'), import('./program.ts')]);
  return run(process.argv.slice(2), process.env, process, DEVELOPMENT);
});
