#!/usr/bin/env node
// The executable. Nothing else is loaded before the version is checked: on an older Node the native database
// module ends the process without a word.
const NODE_LEAST = [22, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < NODE_LEAST[0] || (major === NODE_LEAST[0] && minor < NODE_LEAST[1])) {
  console.error(
    `benefits-sidecar needs Node ${NODE_LEAST.join('.')} or newer, and this is ${process.versions.node}: install a current Node and start again`,
  );
  process.exitCode = 1;
} else {
  const { run } = await import('./cli/program.ts');
  process.exitCode = await run(process.argv.slice(2), process.env);
}
