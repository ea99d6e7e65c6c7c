import t from 'tap';
import { recordAll } from '../recordings/record.ts';

await recordAll(t, async (folder) => `sqlite:${folder}/sidecar.db`);
