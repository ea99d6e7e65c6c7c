import type { CensusSync } from '../../census/sync-list.ts';
import type { Census } from '../../contract/census.ts';
import { counted } from '../output.ts';
import { expect, firstDifference, type Scene, type Step, stepFailed, waitFor } from './scene.ts';

export const CENSUS_STEPS: readonly Step[] = [
  { title: 'The benefits service requests the census of each employer', play: askForCensuses },
  { title: 'The sidecar fetches each census from payroll, checks it and uploads it', play: uploadCensuses },
  { title: 'The benefits service processes each census and reports it as complete', play: completeSyncs },
];

async function askForCensuses({ stage: { censuses, simulator }, show, confirm }: Scene): Promise<void> {
  for (const employerId of censuses.keys()) {
    show(`A signed event goes to the sidecar: census needed for ${employerId}.`);
    const event = await simulator.requestCensus(employerId);
    const delivery = simulator.deliveries().find(({ eventId }) => eventId === event.id);
    expect(
      delivery?.acknowledged === true,
      'the sidecar to acknowledge the event with a status of 2xx',
      String(delivery?.status ?? delivery?.reason ?? 'no delivery'),
    );
    confirm(`The sidecar stored it and responded with ${delivery?.status}.`);
  }
}

async function uploadCensuses({ stage, confirm }: Scene): Promise<void> {
  for (const [employerId, census] of stage.censuses) {
    const path = `/employer/${encodeURIComponent(employerId)}/census`;
    const upload = await waitFor(
      `the census of ${employerId} to be accepted by the benefits service`,
      async () => {
        await assertNotFailed(stage, employerId);
        return stage.simulator.requests().find((request) => request.path === path && request.status === 200);
      },
      (seen) => seen !== undefined,
    );
    const difference = firstDifference(upload!.body, census);
    expect(
      difference === null,
      `the benefits service to receive the census of ${employerId} as payroll has it`,
      `a census that differs in ${difference}`,
    );
    const times = stage.payroll.givenOut(employerId);
    expect(times > 0, `payroll to receive a request for the census of ${employerId}`, 'no request');
    const received = counted((upload!.body as Census).employees.length, 'employee');
    confirm(`${employerId}: the benefits service received ${received}, equal in every field to payroll's.`);
  }
}

async function completeSyncs({ stage, confirm }: Scene): Promise<void> {
  for (const employerId of stage.censuses.keys()) {
    const [sync] = await waitFor(
      `one census sync of ${employerId}, completed`,
      () => syncsOf(stage, employerId),
      (syncs) => syncs.length === 1 && syncs[0]?.state === 'completed',
    );
    const ms = Date.parse(String(sync?.completed_at)) - Date.parse(String(sync?.requested_at));
    confirm(`${employerId}: the census sync is completed, ${(ms / 1_000).toFixed(2)} s after the request.`);
  }
}

/** Throws when a sync failed, instead of waiting longer. */
async function assertNotFailed(stage: Scene['stage'], employerId: string): Promise<void> {
  const failed = (await syncsOf(stage, employerId)).find((sync) => sync.state === 'failed');
  if (failed === undefined) return;
  const [problem] = failed.problems;
  const where = problem === undefined ? '' : ` (${problem.path}: ${problem.rule})`;
  throw stepFailed(
    `the census of ${employerId} to pass the check and be uploaded`,
    `a census sync that failed: ${failed.reason}${where}`,
  );
}

function syncsOf({ api }: Scene['stage'], employerId: string): Promise<CensusSync[]> {
  return api.list(`/v1/census-syncs?employer_id=${encodeURIComponent(employerId)}`);
}
