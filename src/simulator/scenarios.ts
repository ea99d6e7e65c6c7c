import { EVENT_SCENARIOS } from './event-scenarios.ts';
import { seededBytes } from './random.ts';
import type { Scenario, Scene } from './scene.ts';
import { SERVICE_SCENARIOS } from './service-scenarios.ts';

/** The scenarios to play against a running sidecar, by name. */
export const SCENARIOS = { ...EVENT_SCENARIOS, ...SERVICE_SCENARIOS } as const;
export type ScenarioName = keyof typeof SCENARIOS;

export function isScenario(name: string): name is ScenarioName {
  return Object.hasOwn(SCENARIOS, name);
}

/** Plays a scenario to its end. Rejects when the simulator closes first. */
export async function play(name: ScenarioName, scene: Scene): Promise<void> {
  const scenario: Scenario = SCENARIOS[name];
  scene.say(`${name}: ${scenario.about}`);
  await scenario.play(scene);
  await scene.settled();
  scene.say(`${name} is done. Expected result: ${scenario.see}`);
}

export type ScenarioState = {
  name: string;
  state: 'playing' | 'played' | 'failed';
  /** Its messages so far, one line each. */
  said: string[];
};

/** Plays scenarios, one at a time. */
export type Playing = {
  /** Rejects if another one is in progress, or when the simulator closes before the end. */
  play(name: ScenarioName, say: (text: string) => void): Promise<void>;
  /** Returns why it cannot start, or null. */
  hinders(name: string): 'unknown' | 'playing' | null;
  /** The newest; null before the first. */
  state(): ScenarioState | null;
};

/** `secretsFrom` seeds the secrets and keys that scenarios create. */
export function createPlaying(
  parts: Omit<Scene, 'newSecret' | 'newKey' | 'say'>,
  secretsFrom: readonly (string | number)[],
): Playing {
  let scenario: ScenarioState | null = null;
  let made = 0;
  const fresh = (what: string): Buffer => {
    made += 1;
    return seededBytes(what, ...secretsFrom, made);
  };
  return {
    play: async (name, say) => {
      if (scenario?.state === 'playing')
        throw new Error(`${scenario.name} is already playing: wait until it ends`);
      const playing: ScenarioState = { name, state: 'playing', said: [] };
      scenario = playing;
      const scene: Scene = {
        ...parts,
        newSecret: () => `whsec_${fresh('secret').toString('base64')}`,
        newKey: () => fresh('key').toString('base64url'),
        say: (text) => {
          playing.said.push(text);
          say(text);
        },
      };
      try {
        await play(name, scene);
        playing.state = 'played';
      } catch (error) {
        playing.state = 'failed';
        throw error;
      }
    },
    hinders: (name) => {
      if (!isScenario(name)) return 'unknown';
      return scenario?.state === 'playing' ? 'playing' : null;
    },
    state: () => scenario,
  };
}
