/**
 * The order of the modules: a module imports only from rows below its own. Type imports and re-exports count.
 * docs/internals/architecture.md says what each module does.
 */
const ROWS = [
  ['main.ts', 'index.ts', 'testing.ts', 'dev'],
  ['cli'],
  ['runtime'],
  ['console'],
  ['api'],
  ['operations'],
  ['readiness'],
  ['payroll'],
  ['inbox'],
  ['employment', 'census'],
  ['outbox', 'names'],
  ['ledger', 'notifications'],
  ['security', 'telemetry', 'formats', 'simulator'],
  ['database', 'contract'],
  [
    'checks.ts',
    'client.ts',
    'client-types.ts',
    'clock.ts',
    'config.ts',
    'environment.ts',
    'errors.ts',
    'money.ts',
    'node-version.ts',
    'notify-config.ts',
    'outgoing.ts',
    'proxy-config.ts',
    'sign-in-config.ts',
    'variables.ts',
    'version.ts',
  ],
];
/** The rooms of payroll/, from top to bottom: a room imports only from those below. */
const ROOMS = [
  'reconciliation',
  'lifecycle',
  'checks',
  'compute',
  'facts',
  'records',
  'settings',
  'calculation',
];

const alternatives = (names) => names.map((name) => name.replace('.', '\\.')).join('|');
const within = (names, parent = 'src') => `^${parent}/(?:${alternatives(names)})(?:/|$)`;

const rows = ROWS.flatMap((row, index) => {
  const above = ROWS.slice(0, index).flat();
  const isFoundation = index === ROWS.length - 1;
  return row.map((module) => ({
    name: `order-${module}`,
    severity: 'error',
    comment: `${module} imports only from rows below its own.`,
    from: { path: within([module]) },
    to: { path: within([...above, ...(isFoundation ? [] : row.filter((other) => other !== module))]) },
  }));
});

const rooms = ROOMS.slice(1).map((room, index) => ({
  name: `order-payroll-${room}`,
  severity: 'error',
  comment: `payroll/${room} imports only from the rooms after it: ${ROOMS.join(', ')}.`,
  from: { path: within([room], 'src/payroll') },
  to: { path: within(ROOMS.slice(0, index + 1), 'src/payroll') },
}));

module.exports = {
  forbidden: [
    ...rows,
    ...rooms,
    {
      name: 'no-circular',
      severity: 'error',
      comment: 'Files that import each other can only be read together.',
      from: {},
      to: { circular: true },
    },
    {
      name: 'every-module-has-a-row',
      severity: 'error',
      comment: 'Add a new module to ROWS.',
      from: { path: '^src/', pathNot: within(ROWS.flat()) },
      to: {},
    },
    {
      name: 'every-room-has-a-place',
      severity: 'error',
      comment: 'Add a new room to ROOMS.',
      from: { path: '^src/payroll/', pathNot: within(ROOMS, 'src/payroll') },
      to: {},
    },
    {
      name: 'cli-performs-operations',
      severity: 'error',
      comment: 'Of the API, the command line uses operations, their parts and their refusals, without HTTP.',
      from: { path: '^src/cli/' },
      to: {
        path: '^src/api/',
        pathNot: '^src/api/(?:operations/|(?:operation|parts|problem|problem-types)\\.ts$)',
      },
    },
    {
      name: 'console-performs-operations',
      severity: 'error',
      comment: 'The console performs operations of the API and imports no domain module and no client.',
      from: { path: '^src/console/' },
      to: {
        path: within([
          'client.ts',
          'client-types.ts',
          'operations',
          'readiness',
          'payroll',
          'inbox',
          'employment',
          'census',
          'outbox',
          'ledger',
          'notifications',
        ]),
      },
    },
    {
      name: 'no-production-module-simulates',
      severity: 'error',
      comment: 'The image has no development tools. Only these and the users’ tests import the simulator.',
      from: { path: '^src/', pathNot: within(['dev', 'testing.ts', 'simulator']) },
      to: { path: within(['dev', 'testing.ts', 'simulator']) },
    },
    {
      name: 'simulator-shares-the-contract',
      severity: 'error',
      comment: 'The simulator imports only contract/ and the error type.',
      from: { path: '^src/simulator/' },
      to: { path: '^src/', pathNot: '^src/(?:(?:simulator|contract)/|errors\\.ts$)' },
    },
  ],
  options: { parser: 'swc', doNotFollow: { path: 'node_modules' } },
};
