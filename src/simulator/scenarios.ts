import { EVENT_SCENARIOS } from './event-scenarios.ts';
import { seededBytes } from './random.ts';
import type { Scenario, Scene } from './scene.ts';
import { SERVICE_SCENARIOS } from './service-scenarios.ts';

export const SCENARIOS = { ...EVENT_SCENARIOS, ...SERVICE_SCENARIOS } as const;
type ScenarioName = keyof typeof SCENARIOS;

export function isScenario(name: string): name is ScenarioName {
  return Object.hasOwn(SCENARIOS, name);
}

/** `messages` has its messages so far, one line each. */
type ScenarioState = { name: string; state: 'playing' | 'played' | 'failed'; messages: string[] };

export type Playing = ReturnType<typeof createPlaying>;

/** Plays scenarios, one at a time. `secretsFrom` seeds the secrets and keys that they create. */
export function createPlaying(
  parts: Omit<Scene, 'newSecret' | 'newKey' | 'say'>,
  secretsFrom: readonly (string | number)[],
) {
  let newest: ScenarioState | null = null;
  let made = 0;
  const fresh = (what: string): Buffer => {
    made += 1;
    return seededBytes(what, ...secretsFrom, made);
  };
  return {
    /** Plays a scenario to its end. Rejects while another one is playing, or when the simulator closes first. */
    async play(name: ScenarioName, report: (text: string) => void): Promise<void> {
      if (newest?.state === 'playing')
        throw new Error(`${newest.name} is already playing: wait until it ends`);
      const scenario: Scenario = SCENARIOS[name];
      const playing: ScenarioState = { name, state: 'playing', messages: [] };
      newest = playing;
      const say = (text: string): void => {
        playing.messages.push(text);
        report(text);
      };
      const newSecret = () => `whsec_${fresh('secret').toString('base64')}`;
      const newKey = () => fresh('key').toString('base64url');
      try {
        say(`${name}: ${scenario.about}`);
        await scenario.play({ ...parts, newSecret, newKey, say });
        await parts.settled();
        say(`${name} is done. Expected result: ${scenario.see}`);
        playing.state = 'played';
      } catch (error) {
        playing.state = 'failed';
        throw error;
      }
    },
    state: () => newest,
  };
}
