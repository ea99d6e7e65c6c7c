import t from 'tap';
import { killRounds } from '../support/kill-rounds.ts';

t.setTimeout(900_000);

t.test('what was acknowledged survives 50 times SIGKILL under load, and takes effect once', (t) =>
  killRounds(t, 50, Date.now() % 1_000_000),
);
