/** The dashboard and the alerts ask for metrics that there are, and every alert says what to do. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import t, { type Test } from 'tap';
import { FIRST_TOKEN, start } from './api/start.ts';
import { read } from './support/scrape.ts';

const file = (name: string): string => readFileSync(new URL(`../docs/${name}`, import.meta.url), 'utf8');

/** The parser that the OpenAPI plugin brings: the tests need none of their own. */
const { parse } = createRequire(import.meta.resolve('@fastify/swagger'))('yaml') as {
  parse(text: string): unknown;
};

type Rule = {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
};
const { groups } = parse(file('alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

type Panel = { id: number; type: string; title: string; targets?: { expr: string }[] };
type Dashboard = {
  schemaVersion: number;
  uid: string;
  templating: { list: { name: string; query: unknown }[] };
  panels: Panel[];
};
const dashboard = JSON.parse(file('grafana.json')) as Dashboard;

/** Every name of ours in a query. */
function namesIn(query: string): string[] {
  return query.match(/benefits_sidecar_\w+/g) ?? [];
}

/** Every name that a series may have, and the values of each label. */
async function exposed(t: Test) {
  const { app } = await start(t);
  const headers = { authorization: `Bearer ${FIRST_TOKEN}` };
  // Routes and statuses are told once there were any.
  await app.inject({ url: '/v1/events', headers });
  const { payload } = await app.inject({ url: '/metrics', headers });
  const names = new Set<string>();
  for (const [name, type] of read(payload).types) {
    const ends = type === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
    for (const end of ends) names.add(`${name}${end}`);
  }
  return { names, text: payload };
}

t.test('every metric that a panel or an alert asks for is in /metrics', async (t) => {
  const { names } = await exposed(t);
  const panels = dashboard.panels.flatMap((panel) => panel.targets ?? []);
  t.ok(panels.length > 20 && rules.length > 10, 'there are some');
  const asked = [...panels, ...rules].flatMap(({ expr }) => namesIn(expr));
  asked.push(...dashboard.templating.list.flatMap(({ query }) => namesIn(JSON.stringify(query))));
  t.strictSame(
    [...new Set(asked)].filter((name) => !names.has(name)),
    [],
  );
});

t.test('every value of a label that a panel or an alert asks for is in /metrics', async (t) => {
  const { text } = await exposed(t);
  const panels = dashboard.panels.flatMap((panel) => panel.targets ?? []);
  const asked = [...panels, ...rules].flatMap(({ expr }) => expr.match(/(?<=[{,])\w+="[^"]+"/g) ?? []);
  t.ok(asked.length > 0);
  t.strictSame(
    asked.filter((label) => !text.includes(label) && !label.startsWith('job=')),
    [],
  );
});

t.test('every metric of ours has a help text, a unit where it has one, and a line in the docs', async (t) => {
  const { names, text } = await exposed(t);
  const page = file('monitoring.md');
  const own = [...text.matchAll(/^# HELP benefits_sidecar_(?!process_|nodejs_)(\w+) (.+)$/gm)];
  t.ok(own.length > 25);
  for (const [, name = '', help = ''] of own) {
    t.match(help, /^[A-Z0-9].*\.$/, `${name}: a sentence`);
    t.ok(page.includes(`\`${name}\``), `docs/monitoring.md tells of ${name}`);
  }
  const told = [...page.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => `benefits_sidecar_${name}`);
  const known = (name: string) => names.has(name) || names.has(`${name}_count`);
  t.strictSame(
    told.filter((name) => !known(name)),
    [],
    'and of no other',
  );
});

t.test('every alert says how bad it is, and its runbook is a heading of the docs', async (t) => {
  const anchors = [...file('monitoring.md').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  for (const { alert, labels, annotations } of rules) {
    t.match(alert, /^BenefitsSidecar[A-Z]/);
    t.ok(['page', 'ticket'].includes(labels.severity), alert);
    const [page, anchor = ''] = annotations.runbook.split('#');
    t.equal(page, 'docs/monitoring.md', alert);
    t.ok(anchors.includes(anchor), `${alert}: ${anchor}`);
  }
  t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});

t.test(
  'the dashboard can be imported: its version, its rows, panels of their own ids that all ask for something',
  async (t) => {
    t.ok(dashboard.schemaVersion >= 36);
    t.match(dashboard.uid, /^[a-z-]+$/);
    const rows = dashboard.panels.filter(({ type }) => type === 'row');
    t.strictSame(
      rows.map(({ title }) => title),
      ['Receiving', 'Applying', 'Sending', 'Payroll', 'Process'],
    );
    t.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
    for (const { type, title, targets } of dashboard.panels) {
      if (type !== 'row')
        t.ok(
          targets?.every(({ expr }) => namesIn(expr).length > 0),
          title,
        );
    }
  },
);
