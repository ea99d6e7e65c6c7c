#!/usr/bin/env node
// The executable.
import { startOnSupportedNode } from './node-version.ts';

await startOnSupportedNode(async () => {
  const { run } = await import('./cli/program.ts');
  return run(process.argv.slice(2), process.env);
});
