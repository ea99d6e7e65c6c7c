/** Lines as a file: streamed no faster than the client reads. */

import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { Db } from '../../src/database/tables.ts';
import { transact } from '../../src/database/transaction.ts';
import { FACTS_AT_ONCE, type NewFact, recordFacts } from '../../src/ledger/roster.ts';
import { onEitherEngine } from '../support/engine.ts';
import { EMPLOYER, LATELY } from '../support/payroll.ts';
import { settled } from '../support/settled.ts';
import { deductionOf, deliver } from './deliver.ts';
import { listenerObserving, RUNS, startPayroll } from './payroll-stage.ts';
import { FIRST_TOKEN, type Logged } from './start.ts';

/** Long enough that a page of lines is larger than the socket buffers of both ends. */
const DESCRIPTION = 'x'.repeat(4_000);

/** Many more employees with one deduction each. */
async function crowd(db: Db, count: number): Promise<void> {
  const facts = Array.from(
    { length: count },
    (_, index): NewFact => ({
      employee_id: `many-${`${index}`.padStart(6, '0')}`,
      employer_id: EMPLOYER,
      hire_date: '2020-01-01',
      termination_date: null,
      employment_status: 'full_time',
      pay_frequency: 'biweekly',
      pay_group: null,
      absent: 0,
    }),
  );
  for (let from = 0; from < count; from += FACTS_AT_ONCE) {
    const some = facts.slice(from, from + FACTS_AT_ONCE);
    await transact(db, (trx) => recordFacts(trx, some, { source: 'census', source_id: 'c-2' }, LATELY));
  }
  await deliver(
    db,
    facts.map(({ employee_id }) =>
      deductionOf(`evt-${employee_id}`, { id: `of-${employee_id}`, employee_id, description: DESCRIPTION }),
    ),
    LATELY,
  );
}

/** A finalized run of many employees, on a listener that reports each read of frozen lines. */
async function listening(t: Test, employees: number, onRead: (reads: number) => void = () => {}) {
  const staged = await startPayroll(t);
  await crowd(staged.db, employees);
  await staged.finalized('r');
  let reads = 0;
  const { app } = listenerObserving(t, staged, 'run_employees', () => onRead(++reads));
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return { port, reads: () => reads, logged: staged.logged as readonly Logged[], app };
}

/** Requests the lines and returns when the first have arrived, which stay unread. */
async function ask(port: number, accept: string): Promise<IncomingMessage> {
  const headers = { authorization: `Bearer ${FIRST_TOKEN}`, accept };
  const asked = request({ port, path: `${RUNS}/r/lines`, headers }).end();
  return new Promise((resolve, reject) => asked.on('error', reject).once('response', resolve));
}

onEitherEngine('lines are not read ahead of a slow client', async (t) => {
  const { port, reads } = await listening(t, 6_000);
  for (const accept of ['text/csv', 'application/x-ndjson']) {
    const before = reads();
    const response = await ask(port, accept);
    const early = (await settled(reads)) - before;
    let bytes = 0;
    for await (const part of response) bytes += part.length;
    const all = reads() - before;
    t.equal(all, 13, 'twelve full pages and a partial one');
    t.ok(early < all - 2, `${accept}: ${early} of ${all} pages read while the client read nothing`);
    t.ok(bytes > 6_000 * DESCRIPTION.length, `${bytes} bytes`);
  }
});

onEitherEngine('a client that disconnects stops the reads, which is not logged as an error', async (t) => {
  const { port, reads, logged } = await listening(t, 4_000);
  const lines = logged.length;
  const response = await ask(port, 'text/csv');
  await settled(reads);
  response.on('error', () => {}).destroy();
  t.ok((await settled(reads)) < 9);
  t.equal(logged.length, lines);
});

onEitherEngine('a file that fails midway is cut off without an end, and the cause is logged', async (t) => {
  const { port, logged } = await listening(t, 600, (reads) => {
    if (reads > 1) throw new Error('gone');
  });
  const response = await ask(port, 'text/csv');
  await t.rejects(async () => {
    for await (const _ of response);
  });
  t.match(logged.at(-1), {
    level: 'error',
    fields: { route: 'GET /v1/payroll-runs/:run_id/lines', cause: /^Error at / },
    message: 'a response was interrupted',
  });
});
