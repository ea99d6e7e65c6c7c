import BetterSqlite3 from 'better-sqlite3';
import { sqlitePath } from '../../src/database/open.ts';
import { transact } from '../../src/database/transaction.ts';
import { reprocessEvent } from '../../src/inbox/events.ts';
import { finishEvents } from '../../src/inbox/inbox.ts';
import { ACTING } from '../support/audit.ts';
import { diskFull, onEachEngine, onSqlite } from '../support/engine.ts';
import { type Body, leaveTrace, NOW, startApplying, traces } from './applying.ts';
import { deduction, deductionBody, syncBody } from './bodies.ts';
import { CASES } from './parse-event-cases.ts';

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `e${index}`);

onEachEngine('events are applied in order, one commit per batch, without gaps', async (t) => {
  const { store, loop, commits, ledger, db } = await startApplying(t);
  const names = numbered(600);
  await store(...names.map(deduction), ['unknown', deductionBody({}, { event_type: 'x' })]);
  commits.count = 0;
  t.match(await loop.runOnce(), { applied: 512, ignored: 0, quarantined: 0 });
  t.equal(commits.count, 1);
  t.strictSame(await ledger(), names.slice(0, 512));
  t.match(await loop.runOnce(), { applied: 88, ignored: 1, quarantined: 0 });
  t.strictSame(await ledger(), names);
  t.match(await loop.runOnce(), { applied: 0, ignored: 0, quarantined: 0 }, 'nothing is left');
  const row = await db.selectFrom('inbox').selectAll().where('event_id', '=', 'e0').executeTakeFirst();
  t.match(row, {
    event_type: 'employee.deduction-updated',
    envelope_id: 'evt_1',
    finished_at: NOW.toISOString(),
    reason: null,
  });
});

onEachEngine('every signed body ends in its state, and none affects another', async (t) => {
  const { store, loop, states } = await startApplying(t);
  await store(...CASES.map(({ body }, index): Body => [`e${index}`, body]));
  await loop.runOnce();
  t.strictSame(
    await states(),
    CASES.map(({ state, reason }, index) => `e${index}: ${state}${reason === null ? '' : ` ${reason}`}`),
  );
});

onEachEngine('a poison event is quarantined without its writes, and others are applied', async (t) => {
  const requestSync = async (
    trx: Parameters<typeof leaveTrace>[0],
    { employerId }: { employerId: string },
  ) => {
    await leaveTrace(trx, employerId);
    if (employerId === 'poison') throw Object.assign(new Error('value'), { code: 'POISON' });
    if (employerId === 'nameless') throw new Error('value');
  };
  const { store, loop, states, differences, ledger, db, logged } = await startApplying(t, {
    effects: { requestSync },
  });
  await store(
    deduction('a'),
    ['good', syncBody('sync-request', 'good')],
    ['poison', syncBody('sync-request', 'poison')],
    deduction('b'),
    ['nameless', syncBody('sync-request', 'nameless')],
    deduction('c'),
  );
  t.strictSame(await loop.runOnce(), { applied: 4, ignored: 0, quarantined: 2, syncsRequested: 1 });
  const why = (code: string) => `applying it failed (${code}): reprocess it after an upgrade, or dismiss it`;
  t.strictSame(await states(), [
    'a: applied',
    'good: applied',
    `poison: quarantined ${why('POISON')}`,
    'b: applied',
    `nameless: quarantined ${why('internal error')}`,
    'c: applied',
  ]);
  t.strictSame(await differences(), [], 'verify accepts their reasons');
  t.strictSame(await ledger(), ['a', 'b', 'c']);
  t.strictSame(await traces(db), ['good']);
  const row = await db.selectFrom('inbox').selectAll().where('event_id', '=', 'poison').executeTakeFirst();
  t.match(row, { event_type: 'employee-census.sync-request', envelope_id: 'evt_2' }, 'its type is stored');
  t.notMatch(logged.join(), 'value', 'the log has only the code');
});

onEachEngine('an event set to pending while a poison event fails is not quarantined', async (t) => {
  const requestSync = async () => {
    throw Object.assign(new Error(), { code: 'POISON' });
  };
  const { store, loop, states, commits, logged } = await startApplying(t, {
    effects: { requestSync },
    onLog: (message) => {
      if (!message.includes('one at a time')) return;
      // The next transaction is the poison event's own. Another process writes between it and the quarantine.
      commits.onRolledBack = async () => {
        commits.onRolledBack = async () => {};
        await transact(commits.other, (trx) => reprocessEvent(trx, 'innocent', ACTING));
        loop.wake();
      };
    },
  });
  await store(['innocent', deductionBody({}, { event_type: 'x' })]);
  await loop.runOnce();
  await store(['poison', syncBody('sync-request')], deduction('a'));
  await loop.runOnce();
  t.match(await states(), [/^innocent: ignored/, /^poison: quarantined/, /^a: applied/]);
  t.equal(logged.filter((line) => line.includes('was quarantined')).length, 1);
});

onEachEngine('an event that another process has applied is not quarantined', async (t) => {
  const requestSync = async () => {
    throw Object.assign(new Error(), { code: 'POISON' });
  };
  const { store, loop, states, commits } = await startApplying(t, {
    effects: { requestSync },
    onLog: (message) => {
      if (!message.includes('one at a time')) return;
      commits.onRolledBack = async () => {
        commits.onRolledBack = async () => {};
        const applied = {
          seq: 1,
          state: 'applied',
          eventType: null,
          envelopeId: null,
          reason: null,
        } as const;
        await transact(commits.other, (trx) => finishEvents(trx, [applied], NOW.toISOString()));
      };
    },
  });
  await store(['poison here', syncBody('sync-request')]);
  await loop.runOnce();
  t.strictSame(await states(), ['poison here: applied']);
});

onEachEngine('the effects of an event happen in the transaction that marks it, or not at all', async (t) => {
  const asked: unknown[] = [];
  const { store, loop, commits, states, db } = await startApplying(t, {
    effects: {
      requestSync: async (trx, request) => {
        asked.push(request);
        await leaveTrace(trx, request.employerId);
      },
      completeSyncs: async (trx, complete) => {
        asked.push(complete);
        await leaveTrace(trx, complete.employerId);
        return 1;
      },
    },
  });
  await store(['one', syncBody('sync-request', 'first')], ['two', syncBody('sync-complete', 'second')]);
  const receivedAt = '2026-03-01T11:00:00.000Z';
  await transact(db, (trx) => trx.updateTable('inbox').set({ received_at: receivedAt }).execute());
  commits.failure = diskFull(t).code;
  await t.rejects(loop.runOnce(), diskFull(t));
  t.strictSame(await states(), ['one: pending', 'two: pending'], 'no mark');
  t.strictSame(await traces(db), [], 'no effect');
  commits.failure = null;
  t.match(await loop.runOnce(), { applied: 2, syncsRequested: 1 });
  t.strictSame(await states(), ['one: applied', 'two: applied']);
  t.strictSame(await traces(db), ['first', 'second']);
  const now = NOW.toISOString();
  t.strictSame(asked.slice(-2), [
    { employerId: 'first', eventId: 'one', now },
    { employerId: 'second', eventId: 'two', receivedAt, now },
  ]);
});

onEachEngine('a database error quarantines nothing, and the loop retries until it succeeds', async (t) => {
  const aborting = new AbortController();
  const { store, loop, commits, states, applied, logged } = await startApplying(t, {
    onApplied: () => aborting.abort(),
  });
  await store(deduction('a'), ['bad', 'x'], deduction('b'));
  commits.failure = diskFull(t).code;
  let tries = 0;
  commits.onRolledBack = async () => {
    tries += 1;
    if (tries === 2) commits.failure = null;
  };
  await loop.run(aborting.signal);
  t.equal(tries, 2);
  // A second later, the failures since then have a line of their own.
  t.match(logged[0], /^events could not be applied: trying again /);
  t.equal(codeIn(logged[0] as string), diskFull(t).code);
  t.strictSame(applied, [{ applied: 2, ignored: 0, quarantined: 1, syncsRequested: 0 }]);
  t.match(await states(), [/^a: applied$/, /^bad: quarantined the body is not valid JSON$/, /^b: applied$/]);
});

onEachEngine('a database error while events are applied one by one also quarantines nothing', async (t) => {
  const errors = [{ code: 'POISON' }, diskFull(t), { code: 'POISON' }, { code: 'POISON' }];
  const requestSync = async () => {
    throw Object.assign(new Error(), { severity: 'ERROR' }, errors.shift());
  };
  const { store, loop, states } = await startApplying(t, { effects: { requestSync } });
  await store(deduction('a'), ['bad', syncBody('sync-request')], deduction('b'));
  await t.rejects(loop.runOnce(), diskFull(t));
  t.strictSame(await states(), ['a: applied', 'bad: pending', 'b: pending']);
  t.match(await loop.runOnce(), { applied: 1, quarantined: 1 });
  t.match(await states(), ['a: applied', /^bad: quarantined/, 'b: applied']);
});

onEachEngine('an idle loop starts when it is woken and ends when it is stopped', async (t) => {
  const aborting = new AbortController();
  const { store, loop, states } = await startApplying(t, { onApplied: () => aborting.abort() });
  const running = loop.run(aborting.signal);
  await store(deduction('a'));
  loop.wake();
  await running;
  t.strictSame(await states(), ['a: applied']);
});

function codeIn(line: string): string | undefined {
  return /"code":"(\w+)"/.exec(line)?.[1];
}

// PostgreSQL manages its own storage and allows concurrent writers: test/postgres has its rules.
onSqlite('while another process holds the lock nothing is quarantined, and the loop retries', async (t) => {
  const aborting = new AbortController();
  const { store, loop, commits, states, logged } = await startApplying(t, {
    onLog: (message) => {
      if (message.includes('trying again')) other.exec('rollback');
    },
    onApplied: () => aborting.abort(),
  });
  const other = new BetterSqlite3(sqlitePath(commits.url));
  t.teardown(() => other.close());
  await store(deduction('a'), ['bad', 'x'], deduction('b'));
  other.exec('begin immediate');
  await loop.run(aborting.signal);
  t.strictSame(logged.map(codeIn), ['LOCK_TIMEOUT']);
  t.match(await states(), [/^a: applied$/, /^bad: quarantined/, /^b: applied$/]);
});

onSqlite('a storage failure that a retry cannot fix ends the loop', async (t) => {
  const { store, loop, commits, states, fatal } = await startApplying(t);
  await store(deduction('a'));
  commits.failure = 'SQLITE_IOERR_FSYNC';
  await loop.run(new AbortController().signal);
  t.match(fatal, [{ code: 'SQLITE_IOERR_FSYNC' }]);
  t.equal(fatal.length, 1);
  t.strictSame(await states(), ['a: pending']);
});
