/** The short form of test/faults/kill.test.ts. */
import t from 'tap';
import { engineOfTests } from '../support/engine.ts';
import { killRounds } from '../support/kill-rounds.ts';

t.test('what was acknowledged survives SIGKILL under load, and takes effect once', (t) =>
  killRounds(t, engineOfTests() === 'sqlite' ? 3 : 2, Date.now() % 1_000_000),
);
