/** A social security number as it may be shown: its last four digits. Pure; the interface's rule for `ssn`. */

const SHOWN_DIGITS = 4;

/** Nine digits, as people and programs write them: `123-45-6789`, `123 45 6789`, `123456789`. */
const SSN = /(?<!\d)(?:\d{9}|\d{3}([- ])\d{2}\1\d{4})(?!\d)/g;

/** `***-**-6789`, however it was written. Of one with so few digits that they would be all of it, nothing is shown. */
export function maskSsn(ssn: string): string {
  const digits = ssn.replace(/\D/g, '');
  return `***-**-${digits.length > SHOWN_DIGITS ? digits.slice(-SHOWN_DIGITS) : '****'}`;
}

/** A text from elsewhere with every SSN in it masked: whatever looks like one, and `known` as it was written. */
export function maskSsnsIn(text: string, known?: unknown): string {
  const masked = text.replace(SSN, (ssn) => maskSsn(ssn));
  return typeof known === 'string' && known !== '' ? masked.replaceAll(known, maskSsn(known)) : masked;
}
