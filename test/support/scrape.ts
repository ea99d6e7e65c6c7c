/** The metrics of a sidecar, as Prometheus reads them. */
import type { Keys } from './settings.ts';

type Scraped = {
  readonly text: string;
  /** The declared names with their types. */
  readonly types: ReadonlyMap<string, string>;
  /** Returns the value of a series without our prefix, such as `requests{state="pending"}`; undefined if absent. */
  of(series: string): number | undefined;
};

export async function scrape(address: string, { token }: Keys): Promise<Scraped> {
  const answer = await fetch(`${address}/metrics`, { headers: { authorization: `Bearer ${token}` } });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`/metrics returned ${answer.status}: ${text}`);
  return read(text);
}

/** Throws for a line in another format. */
export function read(text: string): Scraped {
  const series = new Map<string, number>();
  const types = new Map<string, string>();
  for (const line of text.split('\n')) {
    const type = /^# TYPE (\w+) (counter|gauge|histogram|summary)$/.exec(line);
    if (type !== null) types.set(type[1] as string, type[2] as string);
    if (line === '' || line.startsWith('# ')) continue;
    const [, name, value] = /^([a-zA-Z_]\w*(?:\{.*\})?) ([-+.\w]+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`no line of metrics: ${line}`);
    if (series.has(name)) throw new Error(`twice: ${name}`);
    series.set(name, Number(value.replace('Inf', 'Infinity')));
  }
  return { text, types, of: (name) => series.get(`benefits_sidecar_${name}`) };
}
