import t from 'tap';
import { StepFailed, waitFor } from '../../../src/cli/demo/scene.ts';

t.test('a wait that runs out says what was waited for and what was there', async (t) => {
  const waiting = waitFor(
    'a sync, completed',
    () => ['requested'],
    (seen) => seen.includes('completed'),
    1,
  );
  await t.rejects(waiting, new StepFailed('a sync, completed within 0.001 s', '["requested"]'));
});
