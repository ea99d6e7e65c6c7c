/** The time zone of a database: stored at its first start, and changed by a command alone. */
import { test } from 'tap';
import { dayIn, zoneName } from '../../src/clock.ts';
import { adoptTimeZone, migrate } from '../../src/database/migrate.ts';
import { dayAt } from '../../src/database/time-zone.ts';
import { transact } from '../../src/database/transaction.ts';
import { recordFacts } from '../../src/ledger/roster.ts';
import { newHire } from '../contract/samples.ts';
import { open } from '../database/scratch.ts';
import { newDatabaseUrl, onEitherEngine, onPostgres } from '../support/engine.ts';
import { makeKeys, variablesFor } from '../support/settings.ts';
import { serve } from '../support/sidecar.ts';
import { commandsWith, type Variables, withDatabase } from './harness.ts';

/** In Los Angeles it is still July 10. */
const NIGHT = '2026-07-11T02:00:00.000Z';
const ZONE = 'America/Los_Angeles';

onEitherEngine('a process with another time zone than the stored one refuses to start', async (t) => {
  const { env, cli } = await withDatabase(t);
  const moved = commandsWith(t, { ...env, TIME_ZONE: ZONE });
  const refused = (zone: string, configured: string) => ({
    code: 1,
    stderr: new RegExp(`counts days in ${zone}, but TIME_ZONE is ${configured}: .*migrate --time-zone`),
  });
  t.match(await moved.cli('deductions list'), refused('UTC', ZONE));
  t.match(await moved.cli('migrate'), refused('UTC', ZONE));
  t.match(await cli('migrate --time-zone Mars/Olympus'), {
    code: 2,
    stderr: /--time-zone must be .*IANA name/,
  });
  t.match(await cli(`migrate --time-zone ${ZONE}`), { code: 0 });
  t.match(await cli('deductions list'), refused(ZONE, 'UTC'));
  t.match(await moved.cli('deductions list'), { code: 0 });
  const { data } = await moved.json('audit list --action database.migrate');
  t.match(data, [{ details: { time_zone: ZONE, previous_time_zone: 'UTC' } }]);
});

onEitherEngine('a fact keeps its date of receipt, and later ones get days of the new zone', async (t) => {
  const { db, cli } = await withDatabase(t);
  const record = (id: string, now: string) =>
    transact(db, (trx) =>
      recordFacts(
        trx,
        [{ employee_id: id, employer_id: 'a' }],
        { source: 'new-hire', source_id: `c-${id}` },
        now,
      ),
    );
  await record('before', NIGHT);
  t.match(await cli(`migrate --time-zone ${ZONE}`), { code: 0 });
  await adoptTimeZone(db, ZONE);
  await record('after', NIGHT);
  await record('winter', '2026-12-11T07:59:00.000Z');
  const facts = db.selectFrom('roster_facts').select(['employee_id', 'received_on']).orderBy('position');
  t.strictSame(
    (await facts.execute()).map(({ employee_id, received_on }) => [employee_id, received_on]),
    [
      ['before', '2026-07-11'],
      ['after', '2026-07-10'],
      ['winter', '2026-12-10'],
    ],
  );
  t.equal(dayAt(db, new Date(NIGHT)), '2026-07-10', 'today');
});

test('a time zone is a place by any of its names, or UTC', async (t) => {
  const named = ['america/los_angeles', 'US/Pacific', 'Etc/UTC', 'GMT'].map(zoneName);
  t.strictSame(named, [ZONE, ZONE, 'UTC', 'UTC']);
  // None of them has daylight saving time as users expect it.
  for (const text of [
    'EST',
    'PST',
    'PST8PDT',
    'Etc/GMT+8',
    '-08:00',
    'GMT-8',
    `${ZONE} `,
    'Mars/Olympus',
    '',
  ])
    t.equal(zoneName(text), null, text);
});

onPostgres(
  'serve dates what it receives in its time zone, and stops when a command changes it',
  async (t) => {
    const keys = makeKeys();
    // Its day is another one than that of UTC.
    const zone = new Date().getUTCHours() < 11 ? 'Pacific/Pago_Pago' : 'Pacific/Kiritimati';
    const variables = variablesFor(await newDatabaseUrl(t), 'http://127.0.0.1:9', keys) as Variables;
    const sidecar = await serve(t, { ...variables, TIME_ZONE: zone });
    const headers = { authorization: `Bearer ${keys.token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ ...newHire, employee_id: 'e-1', employer_id: 'a' });
    await fetch(`${sidecar.api}/v1/employee-changes/new-hire`, { method: 'POST', headers, body });
    const { roster } = (await (await fetch(`${sidecar.api}/v1/employees/e-1`, { headers })).json()) as {
      roster: [{ recorded_at: string }];
    };
    t.match(roster, [{ received_on: dayIn(zone, roster[0].recorded_at) }]);
    t.match(await commandsWith(t, variables).cli(`migrate --time-zone ${ZONE}`), { code: 0 });
    t.equal(await sidecar.ended, 1);
    t.match(sidecar.output(), `the database counts days in ${ZONE}, but TIME_ZONE is ${zone}`);
  },
);

onEitherEngine('a new database stores the time zone of its first start', async (t) => {
  const db = open(t, await newDatabaseUrl(t));
  await migrate(db, 'sandbox', new Date(NIGHT), { timeZone: ZONE });
  await t.rejects(adoptTimeZone(db, 'UTC'), { code: 'SCHEMA_REFUSED' });
  await t.resolves(adoptTimeZone(db, ZONE));
});
