/**
 * pg-boss as its documentation has it: a job a request, sent with an id of our own, and a worker that takes batches.
 * With the argument `gathered`, `insert()` adds the jobs of several requests at once.
 *
 * - Deduplication: a job whose id is known is not stored again, and a completed one is known for seven days. That
 *   is more than `singletonKey` promises, which is unique only among jobs that wait.
 * - `batchSize` with `burstWhenBatchFull` is what its page on workers gives for a backlog. 500 is the best of 100, 250,
 *   500 and 1,000 here. More workers at once were slower here, and so was LISTEN/NOTIFY instead of polling.
 * - The pool has its default size, ten; twenty was no faster, nor was a partition of its own for the queue.
 */
import { createHash } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import { CREATE_DEDUCTIONS, upsertMany } from './deductions.ts';
import { gather } from './gather.ts';
import { type DeductionEvent, serveWebhooks, setting } from './webhook.ts';

const QUEUE = 'deductions';
const BATCH_JOBS = 500;
/** The shortest that it takes. */
const POLLING_SECONDS = 0.5;

const boss = new PgBoss(setting('DATABASE_URL'));
boss.on('error', console.error);
await boss.start();
await boss.createQueue(QUEUE);
const database = boss.getDb();
await database.executeSql(CREATE_DEDUCTIONS);

await boss.work<DeductionEvent>(
  QUEUE,
  { batchSize: BATCH_JOBS, burstWhenBatchFull: true, pollingIntervalSeconds: POLLING_SECONDS },
  async (jobs) => {
    const { text, values } = upsertMany(jobs.map((job) => job.data));
    await database.executeSql(text, values);
  },
);

const insert = gather<{ id: string; data: DeductionEvent }>((jobs) => boss.insert(QUEUE, [...jobs]));
await serveWebhooks(
  process.argv[2] === 'gathered'
    ? (eventId, event) => insert({ id: uuidOf(eventId), data: event })
    : (eventId, event) => boss.send(QUEUE, event, { id: uuidOf(eventId) }),
  () => boss.stop(),
);

/** Its ids are UUIDs; the provider's are not. */
function uuidOf(eventId: string): string {
  const hash = createHash('sha256').update(eventId).digest('hex');
  return hash.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}
