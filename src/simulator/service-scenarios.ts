/** Scenarios of faults in the service. Each requests censuses, which makes the sidecar send. */
import { employeeOf, enrolOne, type Scenario, type Scene, takeCensuses, withFault } from './scene.ts';

const ALL_ARRIVE = 'every request arrives with a delay; `census show` has completed syncs';
const NOT_TWICE = 'they are not applied twice: the retries have the same idempotency key';

export const SERVICE_SCENARIOS = {
  'slow-service': {
    about: 'every response is delayed by a second',
    see: ALL_ARRIVE,
    play: (scene) => withFault(scene, 'latency=1s', () => takeCensuses(scene)),
  },
  'hanging-service': {
    about: 'one request per employer hangs until the service restarts',
    see: 'events are still acknowledged; then every request arrives',
    play: (scene) =>
      withFault(scene, `hang:${scene.world.size}`, async () => {
        const restarted = scene
          .until(() => isUsedUp(scene))
          .then(async () => {
            const { event } = enrolOne(scene, employeeOf(scene), 'medical');
            await scene.send(event);
            scene.say(
              `Requests hang; event ${event.id} was delivered during that time; the service restarts`,
            );
            scene.setFaults([]);
          });
        await Promise.all([restarted, takeCensuses(scene)]);
      }),
  },
  resets: survived('reset:3', 'three connections are reset before anything is applied', ALL_ARRIVE),
  'rate-limited': survived(
    'rate-limit=1s:3',
    'three requests get 429 with Retry-After',
    'no attempt is earlier than Retry-After allows; every request arrives',
  ),
  outage: survived('error=503:4', 'four requests get 503, then the service recovers', ALL_ARRIVE),
  'lost-responses': survived(
    'lost-response:2',
    'two requests are applied, but their responses are lost',
    NOT_TWICE,
  ),
  'half-responses': survived(
    'half-response:2',
    'two requests are applied, but their responses are cut off',
    NOT_TWICE,
  ),
  'wrong-key': {
    about: 'the service changes its API key: 401 until the sidecar has the new one',
    see: '`readiness`: circuit-breaker-paused; sending resumes once BENEFITS_API_KEY_FILE has the new key',
    play: async (scene) => {
      const key = scene.newKey();
      scene.setApiKey(key);
      const how = 'write it to BENEFITS_API_KEY_FILE, or restart the sidecar with it';
      scene.say(`The API key is now ${key}: ${how}`);
      await takeCensuses(scene);
    },
  },
  'forbidden-employer': {
    about: 'every request about one employer gets 403',
    see: 'its requests are retried slowly, others arrive; `census sync --employer ID` retries at once',
    play: async (scene) => {
      const [forbidden = '', ...others] = scene.world.keys();
      await withFault(scene, `forbidden@${forbidden}`, async () => {
        await scene.requestCensus(forbidden);
        await scene.until(() => scene.faults().some(({ met }) => met > 0));
        scene.say(`A request about ${forbidden} got a 403`);
        await takeCensuses(scene, others);
      });
    },
  },
} as const satisfies Record<string, Scenario>;

/** Creates a scenario that ends when the fault is used up and every census has arrived. */
function survived(fault: string, about: string, see: string): Scenario {
  const play = (scene: Scene) =>
    withFault(scene, fault, async () => {
      await takeCensuses(scene);
      // An upload whose response is lost completes with the event, without a second request.
      while (!isUsedUp(scene)) await takeCensuses(scene);
    });
  return { about, see, play };
}

/** Returns whether all counted faults are used up. Faults that were set elsewhere may have no end. */
function isUsedUp(scene: Scene): boolean {
  return scene.faults().every(({ left }) => left === 0 || left === null);
}
