import t from 'tap';
import { createFailedAttempts } from '../../src/security/tokens.ts';

t.test('after 20 failed attempts in a minute an address waits until the minute is over', async (t) => {
  let at = 0;
  const attempts = createFailedAttempts({ now: () => at });
  for (let count = 0; count < 20; count += 1) t.equal(attempts.failed('10.0.0.1'), null);
  at += 15_000;
  t.equal(attempts.failed('10.0.0.1'), 45);
  t.equal(attempts.failed('10.0.0.2'), null, 'other addresses are not affected');
  at += 45_000;
  t.equal(attempts.failed('10.0.0.1'), null, 'the next minute starts over');
});

t.test('1,000 addresses are remembered, and the oldest is forgotten first', async (t) => {
  const attempts = createFailedAttempts({ now: () => 0 });
  const exhaust = (address: string) => {
    for (let count = 0; count < 20; count += 1) attempts.failed(address);
  };
  exhaust('first');
  for (let count = 0; count < 998; count += 1) attempts.failed(`address ${count}`);
  exhaust('last');
  attempts.failed('one more');
  t.equal(attempts.failed('last'), 60);
  t.equal(attempts.failed('first'), null);
});
