/**
 * The common part of the peers: Fastify with a content type parser that keeps the raw body, as documented, and the
 * provider's library for verification. Responds 204 when the event is durable.
 */
import fastify from 'fastify';
import { Webhook } from 'svix';

export type DeductionEvent = {
  data: { id: string; employee_id: string; [field: string]: unknown };
  created_at: string;
};

/** `take` resolves when the event is durable; `close` releases the peer's resources. */
export async function serveWebhooks(
  take: (eventId: string, event: DeductionEvent) => Promise<unknown>,
  close: () => Promise<unknown>,
): Promise<void> {
  const webhook = new Webhook(setting('WEBHOOK_SECRETS'));
  const app = fastify();
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  );
  app.post('/webhooks', async (request, reply) => {
    const body = request.body as string;
    try {
      webhook.verify(body, request.headers as Record<string, string>);
    } catch {
      return reply.code(401).send();
    }
    await take(request.headers['svix-id'] as string, JSON.parse(body) as DeductionEvent);
    return reply.code(204).send();
  });
  app.get('/readyz', (_request, reply) => reply.code(200).send());
  await app.listen({ host: '127.0.0.1', port: Number(setting('RECEIVER_PORT')) });
  process.on('SIGTERM', async () => {
    await app.close();
    await close();
  });
}

export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}
