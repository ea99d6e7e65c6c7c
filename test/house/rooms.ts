/**
 * The rooms of `src`, each with those that it may import: a way of one direction, so that what lies left of a room
 * can be read, tested and changed without it. biome.json holds the same as rules; test/house.test.ts proves that.
 */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  simulator: ['contract'],
  database: [],
  security: ['database'],
  observe: ['database'],
  ledger: ['contract', 'database'],
  outbound: ['contract', 'database', 'security', 'observe', 'ledger'],
  census: ['contract', 'database', 'security', 'observe', 'ledger', 'outbound'],
  inbound: ['contract', 'database', 'security', 'observe', 'ledger', 'outbound', 'census'],
  payroll: ['contract', 'database', 'security', 'observe', 'ledger', 'outbound', 'census', 'inbound'],
  api: ['contract', 'database', 'security', 'observe', 'ledger', 'outbound', 'census', 'inbound', 'payroll'],
  cli: [
    'contract',
    'simulator',
    'database',
    'security',
    'observe',
    'ledger',
    'outbound',
    'census',
    'inbound',
    'payroll',
    'api',
  ],
};
