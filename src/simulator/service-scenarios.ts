/**
 * Scenarios of faults in the service. Each requests censuses, which makes the sidecar send; employment
 * changes reported during it meet the same faults.
 */
import { employeeOf, enrolOne, type Scenario, type Scene, takeCensuses, withFaults } from './scene.ts';

const ALL_ARRIVE = 'every request arrives with a delay; `census show` has completed syncs';

export const SERVICE_SCENARIOS = {
  'slow-service': {
    about: 'every response is delayed by a second',
    see: ALL_ARRIVE,
    play: (scene) => withFaults(scene, ['latency=1s'], () => takeCensuses(scene)),
  },
  'hanging-service': {
    about: 'one request per employer hangs until the service restarts',
    see: 'events are still acknowledged; then every request arrives',
    play: async (scene) => {
      await withFaults(scene, [`hang:${scene.world.size}`], async () => {
        const restarted = untilUsedUp(scene).then(async () => {
          const { event } = enrolOne(scene, employeeOf(scene), 'medical');
          await scene.send(event);
          scene.say(`Requests hang; event ${event.id} was delivered during that time; the service restarts`);
          scene.setFaults([]);
        });
        await Promise.all([restarted, takeCensuses(scene)]);
      });
    },
  },
  resets: {
    about: 'three connections are reset before anything is applied',
    see: ALL_ARRIVE,
    play: (scene) => survive(scene, 'reset:3'),
  },
  'rate-limited': {
    about: 'three requests get 429 with Retry-After',
    see: 'no attempt is earlier than Retry-After allows; every request arrives',
    play: (scene) => survive(scene, 'rate-limit=1s:3'),
  },
  outage: {
    about: 'four requests get 503, then the service recovers',
    see: ALL_ARRIVE,
    play: (scene) => survive(scene, 'error=503:4'),
  },
  'lost-answers': {
    about: 'two requests are applied, but their responses are lost',
    see: 'they are not applied twice: the retries have the same idempotency key',
    play: (scene) => survive(scene, 'lost-answer:2'),
  },
  'half-answers': {
    about: 'two requests are applied, but their responses are cut off',
    see: 'they are not applied twice: the retries have the same idempotency key',
    play: (scene) => survive(scene, 'half-answer:2'),
  },
  'wrong-key': {
    about: 'the service changes its API key: 401 until the sidecar has the new one',
    see: '`readiness`: circuit-breaker-paused; sending resumes once BENEFITS_API_KEY_FILE has the new key',
    play: async (scene) => {
      const key = scene.newKey();
      scene.setApiKey(key);
      scene.say(
        `The API key is now ${key}: put it into BENEFITS_API_KEY_FILE, or restart the sidecar with it`,
      );
      await takeCensuses(scene);
    },
  },
  'forbidden-employer': {
    about: 'every request about one employer gets 403',
    see: 'its requests are retried slowly, others arrive; `census sync --employer ID` retries at once',
    play: async (scene) => {
      const [forbidden = '', ...others] = scene.world.keys();
      await withFaults(scene, [`forbidden@${forbidden}`], async () => {
        await scene.requestCensus(forbidden);
        await untilMet(scene);
        scene.say(`${forbidden} was answered 403`);
        await takeCensuses(scene, others);
      });
    },
  },
} as const satisfies Record<string, Scenario>;

/** Plays until the fault is used up and every census has arrived. */
async function survive(scene: Scene, fault: string): Promise<void> {
  await withFaults(scene, [fault], async () => {
    await takeCensuses(scene);
    // An upload whose response is lost completes with the event, without a second request.
    while (!isUsedUp(scene)) await takeCensuses(scene);
  });
}

/** Waits until a request met a fault. */
function untilMet(scene: Scene): Promise<void> {
  return scene.until(() => scene.faults().some(({ met }) => met > 0));
}

function untilUsedUp(scene: Scene): Promise<void> {
  return scene.until(() => isUsedUp(scene));
}

/** Returns whether all counted faults are used up. Faults that were set elsewhere may have no end. */
function isUsedUp(scene: Scene): boolean {
  return scene.faults().every(({ left }) => left === 0 || left === null);
}
