import { type Finding, pass, warn } from './finding.ts';

/** The Node that it runs on. One too old does not get here (main.ts). */
export function checkNode(version: string): Finding {
  const message = `Node ${version}`;
  const major = Number(version.split('.')[0]);
  if (major % 2 === 0) return pass('node', message);
  return warn('node', message, 'Odd releases are mended for half a year only: take an even one.');
}
