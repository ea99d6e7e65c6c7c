import { execFileSync } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { currentApiKey, readBenefits, readConfig } from '../src/config.ts';
import {
  CANARY,
  dataKey,
  FIRST_TOKEN,
  REQUIRED,
  refused,
  type Variables,
  webhookSecret,
} from './config-samples.ts';

t.test('an optional empty variable has its default', async (t) => {
  const optional = [
    ...'DATABASE_URL RECEIVER_HOST RECEIVER_PORT API_HOST API_PORT API_TOKEN CENSUS_SOURCE'.split(' '),
    ...'CENSUS_SOURCE_TOKEN CENSUS_MAX_AGE CENSUS_OVERDUE LOG_LEVEL BENEFITS_API_KEY_FILE'.split(' '),
    ...'API_TOKEN_FILE'.split(' '),
  ];
  const empty = Object.fromEntries(optional.map((variable) => [variable, '']));
  t.strictSame(readConfig({ ...REQUIRED, ...empty }), readConfig(REQUIRED));
});

t.test('a duration is a whole number of seconds, minutes, hours or days', async (t) => {
  const durations = { '1s': 1_000, '90s': 90_000, '15m': 900_000, '36h': 129_600_000, '2d': 172_800_000 };
  for (const [text, ms] of Object.entries(durations))
    t.equal(readConfig({ ...REQUIRED, CENSUS_MAX_AGE: text }).census.maxAgeMs, ms, text);
});

const SECRETS: Variables = {
  BENEFITS_API_KEY: 'api-key-from-a-file',
  WEBHOOK_SECRETS: webhookSecret(48),
  DATA_KEYS: dataKey('from-a-file'),
  API_TOKEN: FIRST_TOKEN,
  CENSUS_SOURCE_TOKEN: 'source-token-from-a-file',
};

t.test('every secret can come from a file, without the line end that editors add', async (t) => {
  const folder = t.testdir(
    Object.fromEntries(Object.entries(SECRETS).map(([name, text]) => [name, `${text}\n`])),
  );
  const files = Object.keys(SECRETS).map((name) => [`${name}_FILE`, join(folder, name)]);
  const { BENEFITS_ENVIRONMENT, BENEFITS_BASE_URL } = REQUIRED;
  const config = readConfig({ BENEFITS_ENVIRONMENT, BENEFITS_BASE_URL, ...Object.fromEntries(files) });
  const plain = { ...config, benefits: { ...config.benefits, apiKeyFile: null } };
  t.strictSame(plain, readConfig({ ...REQUIRED, ...SECRETS }));
  t.equal(config.benefits.apiKeyFile, join(folder, 'BENEFITS_API_KEY'));
});

t.test('an invalid secret file is rejected with the variable and without the value', async (t) => {
  const folder = t.testdir({ malformed: `${CANARY} two`, empty: '\n', folder: {} });
  for (const [variable, value] of Object.entries(SECRETS)) {
    const file = `${variable}_FILE`;
    const both = { [variable]: value, [file]: join(folder, 'empty') };
    refused(t, both, variable, new RegExp(`${file} are both set: keep one`), 'both set');
    const only = (path: string) => ({ [variable]: '', [file]: path });
    refused(t, only(join(folder, CANARY)), file, /can't be read: ENOENT/, 'no such file');
    refused(t, only(join(folder, 'folder')), file, /must name a regular file/, 'a folder');
    refused(t, only(join(folder, 'empty')), file, /names an empty file/, 'empty');
    refused(t, only(join(folder, 'malformed')), variable, /must/, 'malformed');
  }
});

t.test('a secret file is a regular file of at most 64 KiB', async (t) => {
  const name = 'BENEFITS_API_KEY';
  const fits = 'k'.repeat(64 * 1024);
  const folder = t.testdir({ fits, 'too-large': `${fits}${CANARY}` });
  const only = (path: string) => ({ [name]: '', [`${name}_FILE`]: path });
  const at = (file: string) => join(folder, file);
  t.equal(readBenefits({ ...REQUIRED, ...only(at('fits')) }).apiKey, fits);

  // As Kubernetes mounts a secret: the file is a link into a folder that is itself a link.
  symlinkSync('fits', at('link'));
  symlinkSync('link', at('link-to-link'));
  const linked = readBenefits({ ...REQUIRED, ...only(at('link-to-link')) });
  t.equal(linked.apiKey, fits, 'a link to a file is accepted');

  execFileSync('mkfifo', [at('pipe')]);
  const variable = `${name}_FILE`;
  refused(t, only(at('too-large')), variable, /must name a file of at most 64 KiB/, 'a larger file');
  refused(t, only(at('pipe')), variable, /must name a regular file/, 'a FIFO without a writer');
  refused(t, only('/dev/zero'), variable, /must name a regular file/, 'an endless device');
  symlinkSync('pipe', at('link-to-pipe'));
  refused(t, only(at('link-to-pipe')), variable, /must name a regular file/, 'a link to a FIFO');
});

t.test('a rotated key is read from its file and checked again', async (t) => {
  const path = join(t.testdir({ key: 'old\n' }), 'key');
  const benefits = readBenefits({ ...REQUIRED, BENEFITS_API_KEY: '', BENEFITS_API_KEY_FILE: ` ${path}` });
  t.equal(currentApiKey(benefits), 'old');
  writeFileSync(path, 'new\n');
  t.equal(currentApiKey(benefits), 'new');
  for (const text of ['', `${CANARY} two`]) {
    writeFileSync(path, text);
    t.throws(() => currentApiKey(benefits), { code: 'CONFIG', message: /^BENEFITS_API_KEY/ });
  }
  const fixed = readBenefits(REQUIRED);
  t.equal(currentApiKey(fixed), 'api-key-1', 'a key without a file stays');
});
