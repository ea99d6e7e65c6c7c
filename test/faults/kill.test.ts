import t from 'tap';
import { killRounds } from '../support/kill-rounds.ts';

t.setTimeout(900_000);

t.test('acknowledged events survive 50 SIGKILLs under load and take effect once', (t) => killRounds(t, 50));
