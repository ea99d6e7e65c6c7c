/**
 * pg-boss as documented: one job per request, sent with our id, and a worker that takes batches. With the argument
 * `gathered`, `insert()` adds the jobs of several requests at once.
 *
 * - Deduplication: a job with a known id is not stored again, and completed ones are known for seven days. That is more
 *   than `singletonKey`, which is unique only among pending jobs.
 * - `batchSize` with `burstWhenBatchFull` is recommended for a backlog. 500 was the best of 100, 250, 500 and 1,000. More
 *   workers were slower, and so was LISTEN/NOTIFY instead of polling.
 * - The pool has its default size, ten. Twenty was not faster, nor was a separate partition for the queue.
 */
import { createHash } from 'node:crypto';
import { PgBoss } from 'pg-boss';
import { CREATE_DEDUCTIONS, upsertMany } from './deductions.ts';
import { gather } from './gather.ts';
import { type DeductionEvent, serveWebhooks, setting } from './webhook.ts';

const QUEUE = 'deductions';
const BATCH_JOBS = 500;
/** The shortest polling interval allowed. */
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
