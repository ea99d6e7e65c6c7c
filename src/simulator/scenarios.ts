import { EVENT_SCENARIOS } from './event-scenarios.ts';
import type { Scenario, Scene } from './scene.ts';
import { SERVICE_SCENARIOS } from './service-scenarios.ts';

/** What can be played against a running sidecar, by name. */
export const SCENARIOS = { ...EVENT_SCENARIOS, ...SERVICE_SCENARIOS } as const;
export type ScenarioName = keyof typeof SCENARIOS;

export function isScenario(name: string): name is ScenarioName {
  return Object.hasOwn(SCENARIOS, name);
}

/** Plays one from beginning to end. Rejects when the simulator is closed meanwhile. */
export async function play(name: ScenarioName, scene: Scene): Promise<void> {
  const scenario: Scenario = SCENARIOS[name];
  scene.say(`${name}: ${scenario.about}`);
  await scenario.play(scene);
  await scene.settled();
  scene.say(`${name} is over. To be seen: ${scenario.see}`);
}
