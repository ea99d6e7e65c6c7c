/** Lints the OpenAPI document with Redocly's recommended rules; warnings fail, too. `npm run lint` runs it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referenceDocument } from './client-types/reference.ts';

const REDOCLY = fileURLToPath(new URL('../node_modules/@redocly/cli/bin/cli.js', import.meta.url));

const folder = mkdtempSync(join(tmpdir(), 'benefits-sidecar-openapi-'));
try {
  const file = join(folder, 'openapi.json');
  writeFileSync(file, await referenceDocument());
  const options = ['--extends', 'recommended-strict', '--format', 'stylish'];
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  execFileSync(process.execPath, [REDOCLY, 'lint', file, ...options], { stdio: 'inherit', env });
} finally {
  rmSync(folder, { recursive: true });
}
