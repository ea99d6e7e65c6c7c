/** The flags of lines: conditions that a person should look at. */

/** `label`: a short name, if the words of the flag are not one. */
type FlagTexts = { meaning: string; label?: string };

export const FLAGS = {
  coverage_beyond_last_check: {
    label: 'month not taken',
    meaning:
      'Pay dates in the month of the termination remain that no paycheck took. A final paycheck may take them.',
  },
  missed_check: {
    label: 'missed paycheck',
    meaning: 'The employee belonged in the earlier run that this line corrects, but was not in it.',
  },
  negative: { meaning: 'The contribution is negative. Check that a refund is intended.' },
  no_further_paycheck: {
    meaning:
      'The employee has left and gets no further paycheck that could settle this. An off-cycle run or a final paycheck can.',
  },
  open_after_termination: { meaning: 'Employment has ended, but the deduction has not.' },
  overridden: { meaning: 'A person set the amounts of this paycheck instead of the regular ones.' },
  partial_cycle: {
    meaning:
      'The deduction is in effect on only some of the pay dates that share its amount, and this is its first or last line of the year.',
  },
  recoup_capped: {
    label: 'limited by policy',
    meaning: 'The payroll policy limits what one paycheck takes, so a part stays open.',
  },
  retro_pre_tax: {
    label: 'retroactive increase',
    meaning:
      'A pre-tax deduction rises for past paychecks. Election rules rarely allow this. Not set if the election was sent before the pay date, or for a voided run.',
  },
  retro_refund: {
    label: 'retroactive refund',
    meaning:
      'A pre-tax deduction falls for past paychecks, so the employee gets a refund. Not set if the election was sent before the pay date, or for a voided run.',
  },
  share_taken: {
    label: 'taken by another paycheck',
    meaning: 'Another paycheck took the amount of this pay date.',
  },
  taken_elsewhere: {
    label: 'taken by another employer',
    meaning: 'The employer that the employee left still takes the amount of this pay date.',
  },
} as const satisfies Record<string, FlagTexts>;
export type Flag = keyof typeof FLAGS;

export const FLAG_NAMES = Object.keys(FLAGS) as [Flag, ...Flag[]];

export function flagTexts(flag: Flag): FlagTexts {
  return FLAGS[flag];
}
