/** Follows docs/api.md in a real shell with curl and the real executable, and compares the responses. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { eventually } from '../support/eventually.ts';
import type { Variables } from '../support/settings.ts';
import { type Stage, setStage } from '../support/stage.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const SHIFTED_CLOCK = new URL('../support/shifted-clock.ts', import.meta.url).href;
/** The day of the examples. */
const DAY = '2026-07-13T09:00:00.000Z';
const ADDRESS = 'http://127.0.0.1:8081';

/** Matches a block that changes data. */
const CHANGES = /replay| -X | -T | -d | --data/;

type Block = { language: string; text: string };

function blocksOf(page: string): Block[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', text = '']) => ({
    language,
    text,
  }));
}

/** A shell that keeps exported variables from one block to the next, like an interactive one. */
function createShell(folder: string, variables: Variables) {
  const command = join(folder, 'benefits-sidecar');
  const node = `${process.execPath} --import ${SHIFTED_CLOCK} ${join(ROOT, 'src/main.ts')}`;
  writeFileSync(command, `#!/bin/sh\nexec env -u NODE_OPTIONS ${node} "$@"\n`);
  chmodSync(command, 0o755);
  const exported = join(folder, 'exported');
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { ...variables, NODE_COMPILE_CACHE, PATH: `${folder}:${PATH}` };
  return async (block: string): Promise<string> => {
    const known = existsSync(exported) ? `. ${exported}\n` : '';
    const script = `set -eu\n${known}${block}\nexport -p >${exported}`;
    const child = spawn('sh', ['-c', script], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [said, complained] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (part: string) => {
      said += part;
    });
    child.stderr.setEncoding('utf8').on('data', (part: string) => {
      complained += part;
    });
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`${block}\nended with ${code}: ${complained}`);
    return said;
  };
}

/** Waits until the sidecar is idle, because a reader of the page is slower. */
async function settled({ api, settled }: Stage): Promise<void> {
  await settled();
  const onTheirWay = async () => [
    ...(await api.get('/v1/employee-changes?state=pending')).data,
    ...(await api.get('/v1/employee-changes?state=sending')).data,
    ...(await api.get('/v1/census-syncs?state=requested')).data,
    ...(await api.get('/v1/census-syncs?state=uploaded')).data,
  ];
  await eventually('no work is in flight', onTheirWay, ({ length }) => length === 0);
  await settled();
}

const skip =
  spawnSync('curl', ['--version']).error === undefined
    ? false
    : 'curl is not installed (Debian: apt-get install curl)';

t.test('the API guide works as written, with the responses that it shows', { skip }, async (t) => {
  const shiftMs = Date.parse(DAY) - Date.now();
  const stage = await setStage(t, { start: false, simulator: { now: () => new Date(Date.now() + shiftMs) } });
  stage.variables.CLOCK_SHIFT_FILE = join(stage.folder, 'clock');
  writeFileSync(stage.variables.CLOCK_SHIFT_FILE, String(shiftMs));
  const { api } = await stage.start({ preload: SHIFTED_CLOCK });
  const run = createShell(stage.folder, stage.variables);
  const page = blocksOf('docs/api.md');
  let compared = 0;
  for (const [index, { language, text }] of page.entries()) {
    if (language !== 'sh') continue;
    const answer = await run(text.replaceAll(ADDRESS, api));
    if (CHANGES.test(text)) await settled(stage);
    const shown = page[index + 1];
    if (shown?.language === 'json') t.match(JSON.parse(answer), JSON.parse(shown.text), text);
    else if (shown?.language === 'text') t.equal(answer.replaceAll('\r', ''), shown.text, text);
    else continue;
    compared += 1;
  }
  t.ok(compared >= 20, `${compared} answers compared`);
});
