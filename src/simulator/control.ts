import type { FastifyInstance, FastifyReply } from 'fastify';
import Type from 'typebox';
import { compile } from '../contract/check.ts';
import { isAppError, type Problem } from '../errors.ts';
import { isScenario, type Playing } from './scenarios.ts';
import type { Service } from './scene.ts';

/** The control endpoint, without a key. It is not part of the contract. */
export const CONTROL_PATH = '/__control';

const orders = compile(
  Type.Object(
    {
      faults: Type.Optional(Type.Array(Type.String(), { maxItems: 100 })),
      api_key: Type.Optional(Type.String({ minLength: 1 })),
      webhook_secrets: Type.Optional(
        Type.Array(
          Type.String({
            pattern: '^whsec_[A-Za-z0-9+/]{32,88}={0,2}$',
            rule: 'must be whsec_ and 24 to 64 bytes in base64',
          }),
          { minItems: 1, maxItems: 10 },
        ),
      ),
      enable_endpoints: Type.Optional(Type.Literal(true)),
      scenario: Type.Optional(Type.String()),
    },
    { additionalProperties: false, minProperties: 1, rule: 'must have at least one order' },
  ),
);

const NOT_UNDERSTOOD = 'the orders are not understood';
const NO_SCENARIO = 'is none: "benefits-sidecar-dev simulate --scenario list" shows them';

/**
 * Adds the control endpoint. `GET` returns the state and the record; `POST` applies all orders or none, and returns the
 * same. Errors are 422 for an invalid body and 409 while a scenario is playing. `say` gets the messages of scenarios.
 */
export function addControl(
  app: FastifyInstance,
  service: Service,
  playing: Playing,
  say: (text: string) => void,
): void {
  app.get(CONTROL_PATH, async () => shown(service, playing));
  app.post(CONTROL_PATH, async ({ body }, reply) => {
    if (!orders.accepts(body)) {
      return refuse(reply, 422, NOT_UNDERSTOOD, detailsOf(orders.problems(body)));
    }
    const { faults, api_key: apiKey, webhook_secrets: secrets, scenario } = body;
    if (scenario !== undefined && !isScenario(scenario)) {
      return refuse(reply, 422, NOT_UNDERSTOOD, { scenario: NO_SCENARIO });
    }
    if (scenario !== undefined && playing.state()?.state === 'playing') {
      return refuse(reply, 409, 'a scenario is already playing: wait until it ends');
    }
    try {
      if (faults !== undefined) service.setFaults(faults);
    } catch (error) {
      if (!isAppError(error, 'FAULT_REFUSED')) throw error;
      return refuse(reply, 422, NOT_UNDERSTOOD, { faults: error.message });
    }
    if (apiKey !== undefined) service.setApiKey(apiKey);
    if (secrets !== undefined) service.signWith(secrets);
    if (body.enable_endpoints) void service.enableEndpoints();
    // The outcome is part of the state.
    if (scenario !== undefined) void playing.play(scenario, say).catch(() => {});
    return shown(service, playing);
  });
}

/** Returns the state without bodies, which are personal data, and secrets. */
function shown(service: Service, playing: Playing) {
  return {
    faults: service.faults(),
    scenario: playing.state(),
    endpoints: service
      .destinations()
      .map(({ disabledAt, ...endpoint }) => ({ ...endpoint, disabled_at: disabledAt })),
    requests: service
      .requests()
      .map(({ body, bodyHash, idempotencyKey, ...request }) => ({
        ...request,
        ...{ idempotency_key: idempotencyKey, body_hash: bodyHash },
      })),
    deliveries: service.deliveries().map(({ eventId, ...delivery }) => ({ event_id: eventId, ...delivery })),
  };
}

/** Returns problems by field, never a value. A rule of the whole body is named `body`. */
export function detailsOf(problems: readonly Problem[]): Record<string, string> {
  return Object.fromEntries(problems.map(({ path, rule }) => [path === '' ? 'body' : path, rule]));
}

export function refuse(reply: FastifyReply, status: number, error: string, details: object = {}) {
  return reply.code(status).send({ error, details });
}
