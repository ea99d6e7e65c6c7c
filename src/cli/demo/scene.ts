import type { Clock } from '../../clock.ts';
import type { Stage } from './stage.ts';

/** What an act plays with. */
export type Scene = {
  readonly stage: Stage;
  readonly now: Clock;
  /** Says who does what. */
  tell(text: string): void;
  /** Says what was checked and holds: only after it was. */
  holds(text: string): void;
};

/** A numbered step of the demo. `play` rejects, mostly with `StepFailed`, when something is not as it must be. */
export type Act = { readonly title: string; play(scene: Scene): Promise<void> };

/** As a count and its noun: `1 deduction`, `2 deductions`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
