import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { createLog, createSidecar, readConfig } from 'benefits-sidecar';
import { createClient } from 'benefits-sidecar/client';
import { loadFixtures, signEvent, startSimulator } from 'benefits-sidecar/testing';

/** Under test: forwards webhooks to the sidecar. */
const proxyTo = (receiver: string) =>
  createServer(async (request, response) => {
    const headers = Object.entries(request.headers).filter(([name]) => name.startsWith('svix-'));
    const body = Buffer.concat(await request.toArray());
    const passed = await fetch(`${receiver}/webhooks`, {
      method: 'POST',
      headers: headers as [string, string][],
      body,
    });
    response.writeHead(passed.status).end();
  });

/** Under test: our own webhook handler. */
async function handle(request: Request): Promise<Response> {
  const isSigned = request.headers.get('svix-signature')?.startsWith('v1,');
  await request.json();
  return new Response(null, { status: isSigned ? 204 : 401 });
}

test('the fixtures pass through our proxy into the ledger', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'payroll-test-'));
  const token = randomBytes(32).toString('base64url');
  const simulator = await startSimulator();
  const config = readConfig({
    BENEFITS_ENVIRONMENT: 'sandbox',
    BENEFITS_BASE_URL: simulator.url,
    BENEFITS_API_KEY: simulator.apiKey,
    WEBHOOK_SECRETS: simulator.secrets.join(' '),
    DATA_KEYS: `test:${randomBytes(32).toString('base64')}`,
    DATABASE_URL: `sqlite:${folder}/sidecar.db`,
    RECEIVER_PORT: '0',
    RECEIVER_HOST: '127.0.0.1',
    API_PORT: '0',
    API_TOKEN: token,
  });
  const sidecar = await createSidecar(config, {
    log: createLog('error', false),
    census: async (employerId) => simulator.world.get(employerId) ?? null,
  });
  const proxy = proxyTo(sidecar.receiver).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(async () => {
    proxy.close();
    await simulator.close();
    await sidecar.stop();
    await rm(folder, { recursive: true });
  });

  const { port } = proxy.address() as AddressInfo;
  simulator.subscribe(`http://127.0.0.1:${port}`);
  for (const fixture of loadFixtures()) await simulator.send(fixture);
  await simulator.settled();

  const client = createClient({ baseUrl: sidecar.api, token });
  const pending = () => client.GET('/v1/events', { params: { query: { state: 'pending' } } });
  while ((await pending()).data?.data.length !== 0) await setTimeout(20);
  for (const { id, becomes } of loadFixtures()) {
    const { data } = await client.GET('/v1/events/{event_id}', { params: { path: { event_id: id } } });
    assert.equal(data?.state, becomes, id);
  }
  const path = { deduction_id: 'ded_fixture_medical' };
  const { data } = await client.GET('/v1/deductions/{deduction_id}', { params: { path } });
  assert.equal(data?.member_contribution, '171.00');
});

test('our own handler accepts what the provider signs', async () => {
  const secret = `whsec_${randomBytes(32).toString('base64')}`;
  for (const { id, body } of loadFixtures()) {
    const text = JSON.stringify(body);
    const headers = signEvent(secret, id, new Date(), text);
    const request = new Request('http://payroll.example', { method: 'POST', headers, body: text });
    assert.equal((await handle(request)).status, 204);
  }
});
