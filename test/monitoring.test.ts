/** The dashboard, the alerts and the docs use metrics that exist. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import t, { type Test } from 'tap';
import { FIRST_TOKEN, start } from './api/start.ts';
import { read } from './support/scrape.ts';

const file = (name: string): string => readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');

/** The YAML parser of the OpenAPI plugin. */
const { parse } = createRequire(import.meta.resolve('@fastify/swagger'))('yaml') as {
  parse(text: string): unknown;
};

type Rule = { alert: string; expr: string; annotations: { runbook: string } };
const { groups } = parse(file('alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

type Dashboard = { templating: { list: { query: unknown }[] }; panels: { targets?: { expr: string }[] }[] };
const dashboard = JSON.parse(file('grafana.json')) as Dashboard;

/** Returns our metric names in a query. */
function namesIn(query: string): string[] {
  return query.match(/benefits_sidecar_\w+/g) ?? [];
}

/** Returns the names of all series, and the scraped text. */
async function exposed(t: Test) {
  const { app } = await start(t);
  const headers = { authorization: `Bearer ${FIRST_TOKEN}` };
  // Routes and statuses appear after the first request.
  await app.inject({ url: '/v1/events', headers });
  const { payload } = await app.inject({ url: '/metrics', headers });
  const names = new Set<string>();
  for (const [name, type] of read(payload).types) {
    const ends = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const end of ends) names.add(`${name}${end}`);
  }
  return { names, text: payload };
}

t.test('every metric in a panel or an alert is in /metrics', async (t) => {
  const { names } = await exposed(t);
  const panels = dashboard.panels.flatMap((panel) => panel.targets ?? []);
  t.ok(panels.length > 20 && rules.length > 10);
  const asked = [...panels, ...rules].flatMap(({ expr }) => namesIn(expr));
  asked.push(...dashboard.templating.list.flatMap(({ query }) => namesIn(JSON.stringify(query))));
  for (const name of asked) t.ok(names.has(name), name);
});

t.test('every label value in a panel or an alert is in /metrics', async (t) => {
  const { text } = await exposed(t);
  const panels = dashboard.panels.flatMap((panel) => panel.targets ?? []);
  const asked = [...panels, ...rules].flatMap(({ expr }) => expr.match(/(?<=[{,])\w+="[^"]+"/g) ?? []);
  t.ok(asked.length > 0);
  for (const label of asked) t.ok(text.includes(label) || label.startsWith('job='), label);
});

t.test('docs/monitoring.md lists every metric, and no other', async (t) => {
  const { names, text } = await exposed(t);
  const page = file('monitoring.md');
  const own = [...text.matchAll(/^# HELP benefits_sidecar_(?!process_|nodejs_)(\w+) /gm)];
  t.ok(own.length > 25);
  for (const [, name = ''] of own) t.ok(page.includes(`\`${name}\``), name);
  const listed = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => `benefits_sidecar_${name}`);
  for (const name of listed) t.ok(names.has(name) || names.has(`${name}_count`), name);
});

t.test('every alert has a unique name and a runbook in the docs', async (t) => {
  const anchors = [...file('monitoring.md').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  for (const { alert, annotations } of rules) {
    const [page, anchor = ''] = annotations.runbook.split('#');
    t.equal(page, 'docs/monitoring.md', alert);
    t.ok(anchors.includes(anchor), `${alert}: ${anchor}`);
  }
  t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});
