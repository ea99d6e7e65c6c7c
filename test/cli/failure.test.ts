import t from 'tap';
import { describeFailure } from '../../src/cli/failure.ts';
import { databaseDamaged } from '../../src/database/errors.ts';

const coded = (code: string) => Object.assign(new Error('from the engine'), { code });

t.test(
  'after a disk failure the last line advises verify, and a restore only if that finds differences',
  async (t) => {
    const failures = [
      ...[
        'SQLITE_CORRUPT',
        'SQLITE_CORRUPT_INDEX',
        'SQLITE_NOTADB',
        'SQLITE_IOERR_FSYNC',
        'SQLITE_IOERR',
      ].map(coded),
      databaseDamaged('/data/sidecar.db-wal', 'without its header'),
    ];
    for (const failure of failures) {
      const line = describeFailure(failure);
      t.match(
        line,
        /check the disk.*start again and run "benefits-sidecar verify", which names lost events.*restore a backup only if/,
        line,
      );
      t.notMatch(line, /is damaged/);
    }
  },
);
