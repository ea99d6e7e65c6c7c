/** The check that precedes a start: on an older Node the native database module ends the process without a word. */
const NODE_LEAST = [22, 19] as const;

/** Runs a program and sets its exit code, on a supported Node. The program loads its own files, so nothing precedes. */
export async function startOnSupportedNode(program: () => Promise<number>): Promise<void> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < NODE_LEAST[0] || (major === NODE_LEAST[0] && minor < NODE_LEAST[1])) {
    console.error(
      `benefits-sidecar needs Node ${NODE_LEAST.join('.')} or newer, and this is ${process.versions.node}: install a current Node and start again`,
    );
    process.exitCode = 1;
  } else process.exitCode = await program();
}
