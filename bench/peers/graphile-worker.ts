/**
 * Graphile Worker as documented: one job per request with a job key, and a task that upserts one event. With the argument
 * `gathered`, `addJobs()` adds the jobs of several requests at once.
 *
 * - Deduplication: the event id is the job key, which replaces a pending job with the same key. Completed jobs are deleted
 *   with their keys, so a later duplicate is applied again, with the same effect.
 * - The worker uses the batching of its page on performance, which was faster here than the defaults on that
 * page.
 */
import { Logger, makeWorkerUtils, run, WorkerPreset } from 'graphile-worker';
import { CREATE_DEDUCTIONS, upsertOne } from './deductions.ts';
import { gather } from './gather.ts';
import { type DeductionEvent, serveWebhooks, setting } from './webhook.ts';

const TASK = 'deduction';
const CONCURRENT_JOBS = 24;

/** It would log two lines per job. */
const logger = new Logger(() => () => {});
const preset = {
  extends: [WorkerPreset],
  worker: {
    connectionString: setting('DATABASE_URL'),
    concurrentJobs: CONCURRENT_JOBS,
    // Two more connections than concurrent jobs, as its page on configuration recommends for tasks that use
    // the pool.
    maxPoolSize: CONCURRENT_JOBS + 2,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
};

const utils = await makeWorkerUtils({ preset, logger });
await utils.withPgClient((client) => client.query(CREATE_DEDUCTIONS));
const runner = await run({
  preset,
  logger,
  noHandleSignals: true,
  taskList: {
    [TASK]: async (payload, { withPgClient }) => {
      await withPgClient((client) => client.query(upsertOne(payload as DeductionEvent)));
    },
  },
});

const addJobs = gather<{ id: string; event: DeductionEvent }>((jobs) =>
  utils.addJobs(jobs.map(({ id, event }) => ({ identifier: TASK, payload: event, jobKey: id }))),
);
await serveWebhooks(
  process.argv[2] === 'gathered'
    ? (id, event) => addJobs({ id, event })
    : (id, event) => utils.addJob(TASK, event, { jobKey: id }),
  async () => {
    await runner.stop();
    await utils.release();
  },
);
