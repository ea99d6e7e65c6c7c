/** Writes lines to standard output and to the results file. */

export type Report = {
  line(text?: string): void;
  table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): void;
  text(): string;
};

/** A measurement, its value and its target. */
export type TargetRow = [what: string, measured: string, target: string];

export function createReport(): Report {
  const lines: string[] = [];
  const line = (text = ''): void => {
    console.log(text);
    lines.push(text);
  };
  const row = (cells: readonly (string | number)[]): void => line(`| ${cells.join(' | ')} |`);
  return {
    line,
    table(head, rows) {
      row(head);
      row(head.map(() => '---'));
      for (const cells of rows) row(cells);
      line();
    },
    text: () => `${lines.join('\n').trimEnd()}\n`,
  };
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
