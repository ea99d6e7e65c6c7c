/**
 * Plays a scenario as an operator would: `simulate` on the command line, a real sidecar, and the record over
 * HTTP.
 */
import t from 'tap';
import { here } from '../cli/harness.ts';
import { apiAt } from '../support/api.ts';
import { newDatabaseUrl } from '../support/engine.ts';
import { eventually } from '../support/eventually.ts';
import { lastingPort, makeKeys, variablesFor } from '../support/settings.ts';
import { serve } from '../support/sidecar.ts';
import { syncIn } from '../support/stage.ts';

/** The fields of the record that the test reads. */
type Shown = {
  requests: { applied: boolean; idempotency_key: string; fault: string | null }[];
  scenario: object;
};

t.test('simulate --scenario lost-responses plays the scenario and prints each step', async (t) => {
  const keys = makeKeys();
  const [servicePort, receiverPort] = [await lastingPort(), await lastingPort()];
  const service = `http://127.0.0.1:${servicePort}`;
  const variables = {
    ...variablesFor(await newDatabaseUrl(t), service, keys),
    RECEIVER_PORT: String(receiverPort),
    CENSUS_SOURCE: `dir:${t.testdir()}`,
  };
  const stopping = new AbortController();
  const env = { BENEFITS_API_KEY: keys.apiKey, WEBHOOK_SECRETS: keys.webhookSecret };
  const where = ['--port', String(servicePort), '--webhook-url', `http://127.0.0.1:${receiverPort}/webhooks`];
  let printed = '';
  const ran = here(
    t,
    env,
    ['simulate', ...where, '--censuses', t.testdirName, '--scenario', 'lost-responses'],
    {
      signal: stopping.signal,
      onStdout: (text) => {
        printed = text;
      },
    },
  );
  await eventually(
    'the censuses are written and it waits',
    () => printed,
    (text) => text.includes('Waiting for a sidecar at'),
  );
  t.match(printed, `CENSUS_SOURCE='dir:${t.testdirName}'`);
  const sidecar = await serve(t, variables);
  const api = apiAt(() => sidecar.api, keys);
  await eventually(
    'the scenario is over',
    () => printed,
    (text) => text.includes('lost-responses is done'),
  );
  t.match(printed, 'applied, without a response (injected fault lost-response)');
  for (const employerId of ['maple-bakery', 'harbor-clinic']) await syncIn(api, employerId, 'completed');

  const { requests, scenario } = (await (await fetch(`${service}/__control`)).json()) as Shown;
  t.match(scenario, { name: 'lost-responses', state: 'played' });
  const applied = requests.filter((request) => request.applied).map(({ idempotency_key }) => idempotency_key);
  t.equal(new Set(applied).size, applied.length, 'nothing was applied twice');
  t.equal(requests.filter(({ fault }) => fault === 'lost-response').length, 2);
  stopping.abort();
  t.equal((await ran).code, 0);
});
