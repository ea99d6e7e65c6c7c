/** The tags of the reference, in its order. The operations of a tag are in the order of their declaration. */
export const TAGS = [
  { name: 'Deductions', description: 'The ledger of payroll deductions.' },
  { name: 'Census', description: 'Employee censuses and their uploads.' },
  {
    name: 'Employment',
    description: 'Hires, terminations, moves and pay changes; employees and their rosters.',
  },
  { name: 'Events', description: 'Webhook events and their states.' },
  { name: 'Readiness', description: 'Whether payroll can trust the ledger now.' },
  { name: 'Activity', description: 'Current load: events received, pending work and requests sent.' },
  {
    name: 'Payroll runs',
    description: 'Deductions for one pay date, to the cent, with explanations and verification.',
  },
  { name: 'Open items', description: 'What payroll still owes or is owed, and decisions about it.' },
  {
    name: 'Payroll settings',
    description: 'Pay schedules, payroll codes and the payroll policy of an employer.',
  },
  { name: 'Audit', description: 'Who did what, when and why, in a chain that an auditor can verify.' },
  { name: 'Notifications', description: 'What the sidecar reports to one address of the payroll system.' },
  { name: 'Sessions', description: "The caller's own console sessions." },
  { name: 'Health', description: 'Liveness, readiness of the process, and metrics.' },
  { name: 'Reference', description: 'This document.' },
] as const satisfies readonly { name: string; description: string }[];
export type Tag = (typeof TAGS)[number]['name'];
