import t from 'tap';
import { recordAll } from './record.ts';

await recordAll(t, async (folder) => `sqlite:${folder}/sidecar.db`);
