/** The contract's names as words. Pure. */

/** Words of the names that are no words. */
const ABBREVIATIONS: Readonly<Record<string, string>> = { fsa: 'FSA', hsa: 'HSA' };

/** `dependent_care_fsa` as `dependent care FSA`. */
export function plain(name: string): string {
  return name
    .split('_')
    .map((word) => ABBREVIATIONS[word] ?? word)
    .join(' ');
}

/** `pre_tax` as `pre-tax`. */
export function taxabilityWord(taxability: string): string {
  return taxability.replace('_', '-');
}
