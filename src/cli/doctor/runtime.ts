import { type Environment, given } from '../../environment.ts';
import { type Finding, fail, pass, warn } from './finding.ts';

/** The Node that it runs on. One too old does not get here (main.ts). */
export function checkNode(version: string): Finding {
  const message = `Node ${version}`;
  const major = Number(version.split('.')[0]);
  if (major % 2 === 0) return pass('node', message);
  return warn('node', message, 'Odd releases are mended for half a year only: take an even one.');
}

/** Checks that Node verifies the certificates of HTTPS servers. Only the value `0` turns that off. */
export function checkCertificates(env: Environment): Finding {
  const id = 'certificates';
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return pass(id, 'certificates of HTTPS servers are verified');
  const report = given(env, 'BENEFITS_ENVIRONMENT') === 'live' ? fail : warn;
  return report(
    id,
    'NODE_TLS_REJECT_UNAUTHORIZED=0: any server can pose as the benefits service',
    'Unset it. Trust a private certificate authority with NODE_EXTRA_CA_CERTS=FILE instead.',
  );
}
