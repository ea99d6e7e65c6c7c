import { readFile } from 'node:fs/promises';
import { createLog, createSidecar, readConfig } from 'benefits-sidecar';

const config = readConfig(process.env);
const sidecar = await createSidecar(config, {
  log: createLog(config.logLevel, false),
  // Your own code. This example reads one file per employer.
  async census(employerId) {
    const file = `censuses/${encodeURIComponent(employerId)}.json`;
    return JSON.parse(await readFile(file, 'utf8'));
  },
});
process.once('SIGTERM', () => sidecar.stop());
// For example, the storage failed. Nothing more is acknowledged until a restart.
sidecar.failed.then(async (error) => {
  console.error(error.message);
  process.exitCode = 1;
  await sidecar.stop();
});
