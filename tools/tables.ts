/** Markdown tables. */

export function table(titles: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const line = (cells: readonly (string | number)[]) => `|${cells.map((cell) => ` ${cell} `).join('|')}|\n`;
  return `\n${line(titles)}|${'---|'.repeat(titles.length)}\n${rows.map(line).join('')}\n`;
}

export const code = (text: string): string => `\`${text}\``;

/** Formats the names of environment variables as code. */
export function withCode(text: string): string {
  return text.replace(/(?<![`\w])\b[A-Z]+(?:_[A-Z]+)+\b(?!`)/g, '`$&`');
}
