/** The short form of test/faults/kill.test.ts. */
import { onEitherEngine } from '../support/engine.ts';
import { killRounds } from '../support/kill-rounds.ts';

onEitherEngine('acknowledged events survive SIGKILL under load and take effect once', (t) =>
  killRounds(t, 3),
);
