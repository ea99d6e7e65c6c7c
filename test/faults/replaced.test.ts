/** Replacing or removing the files of a database in use: no event is acknowledged into a lost file. */
import { renameSync } from 'node:fs';
import t from 'tap';
import { sqlitePath } from '../../src/database/open.ts';
import { deliver, eventOf } from '../support/load.ts';
import { setStage } from '../support/stage.ts';

// The log is written to the file when the process ends.
for (const [name, end, result] of [
  ['file', '', 'fail'],
  ['log', '-wal', 'pass'],
]) {
  t.test(`a sidecar whose ${name} is replaced ends, and the next start reports the loss`, async (t) => {
    const stage = await setStage(t);
    const kept = await deliver(stage.sidecar.port, stage.keys.webhookSecret, eventOf('kept', 1));
    t.equal(kept.status, 204);
    await stage.settled();
    const path = `${sqlitePath(stage.databaseUrl)}${end}`;
    renameSync(path, `${path}.away`);
    t.equal(await stage.sidecar.ended, 1);
    const fatal = stage.sidecar.logged().filter(({ level }) => level === 'fatal');
    t.match(fatal, [{ code: 'DATABASE_REPLACED' }]);
    t.match(stage.sidecar.output(), /was replaced or removed while it was in use/);
    await stage.start();
    t.match(await stage.api.check('data-loss'), { result });
  });
}
