/** Names as people type them: without case, accents and marks. */

/** Letters that no normalization takes apart. */
const LETTERS: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', ł: 'l', þ: 'th', ı: 'i', ħ: 'h' },
};

/** Folds `Zoë O’Brien-Łukasz` to `zoe obrien lukasz`: words of letters and digits between single spaces. */
export function folded(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replace(/[\p{M}'’ʼ`´]/gu, '')
    .replace(/[ßæœøđðłþıħ]/g, (letter) => LETTERS[letter] ?? letter)
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
