/** Plays every scene on one engine and compares it with the golden files, which are the same for both engines. */
import type { Test } from 'tap';
import { startRecorder } from './recorder.ts';
import { SCENES } from './scenes.ts';

export async function recordAll(
  t: Test,
  databaseUrl: (folder: string) => Promise<string>,
  scenes: Partial<typeof SCENES> = SCENES,
): Promise<void> {
  const recorder = await startRecorder(t, databaseUrl);
  for (const [name, scene] of Object.entries(scenes)) {
    await t.test(name, async (t) => {
      await scene(recorder);
      recorder.compare(t, name);
    });
  }
}
