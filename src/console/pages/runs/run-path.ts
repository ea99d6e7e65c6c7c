/** Where runs are shown. */
import { idLink, pathOf } from '../../elements/links.ts';
import type { Html } from '../../html.ts';

/** The address of a run's page, or of what is below it. */
export function runPath(runId: string, below = ''): string {
  return `/runs/${encodeURIComponent(runId)}${below}`;
}

export function runLink(runId: string): Html {
  return idLink(pathOf('/runs', runId), runId);
}
