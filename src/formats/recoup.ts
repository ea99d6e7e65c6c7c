/** The policy `recoup` as people type and read it: `all`, `2x` the regular amount, or an amount such as `50.00`. */

/** Returns what a text means. The schema of the option rejects what it does not know. */
export function recoupIn(text: string): { method: string; value?: string } {
  if (text === 'all') return { method: 'all' };
  return text.endsWith('x')
    ? { method: 'multiple', value: text.slice(0, -1) }
    : { method: 'amount', value: text };
}

export function recoupText(recoup: { method: string; value?: string | undefined }): string {
  const { method, value = '' } = recoup;
  if (method === 'all') return 'all';
  return method === 'multiple' ? `${value}x` : value;
}
