/**
 * Graphile Worker as its documentation has it: a job a request with a job key, and a task that upserts one event.
 * With the argument `gathered`, `addJobs()` adds the jobs of several requests at once.
 *
 * - Deduplication: the event's id is the job key, which replaces a job that still waits by the same one. Completed
 *   jobs are deleted, and their keys with them: an event that comes again later is applied again, to the same effect.
 * - The worker is batched as its page on performance configures it for its own quick stats, which was faster here than
 *   the starting point that the same page gives.
 */
import { Logger, makeWorkerUtils, run, WorkerPreset } from 'graphile-worker';
import { CREATE_DEDUCTIONS, upsertOne } from './deductions.ts';
import { gather } from './gather.ts';
import { type DeductionEvent, serveWebhooks, setting } from './webhook.ts';

const TASK = 'deduction';
const CONCURRENT_JOBS = 24;

/** It would say two lines a job. */
const logger = new Logger(() => () => {});
const preset = {
  extends: [WorkerPreset],
  worker: {
    connectionString: setting('DATABASE_URL'),
    concurrentJobs: CONCURRENT_JOBS,
    // Two more than jobs at once, as its page on configuration says where the tasks use the pool.
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
