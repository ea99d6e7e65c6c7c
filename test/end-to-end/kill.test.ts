/** The short form of test/faults/kill.test.ts. */
import t from 'tap';
import { killRounds } from '../support/kill-rounds.ts';

t.test('what was acknowledged survives SIGKILL under load, and takes effect once', (t) =>
  killRounds(t, 3, Date.now() % 1_000_000),
);
