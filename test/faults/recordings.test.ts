import { startRecorder } from '../recordings/recorder.ts';
import { SCENES } from '../recordings/scenes.ts';
import { onEachEngine } from '../support/engine.ts';

onEachEngine('the golden files show what is recorded, on both engines', async (t) => {
  const recorder = await startRecorder(t);
  for (const [name, scene] of Object.entries(SCENES)) {
    await t.test(name, async (t) => {
      await scene(recorder);
      recorder.compare(t, name);
    });
  }
});
